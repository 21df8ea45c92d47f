/** Registers resources on an MCP server: one way for ours and for those of a test build. */
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import type {
  ListResourcesResult,
  ReadResourceResult,
  ResourceTemplateType,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { inProtocolErrors } from './to-protocol-error.ts';

const MAX_URI = 2048;

/** The resources of one client. Contract: `read` resolves `undefined` for a URI that is not among them. */
export interface ResourceSet {
  templates: readonly ResourceTemplateType[];
  list(cursor: string | undefined, context: ServerContext): Promise<ListResourcesResult>;
  read(uri: string, context: ServerContext): Promise<ReadResourceResult['contents'] | undefined>;
}

/** Lets the client list and read these resources. */
export function serveResources(server: Server, resources: ResourceSet): void {
  server.setRequestHandler('resources/list', ({ params }, context) =>
    inProtocolErrors(() => resources.list(params?.cursor, context)),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...resources.templates],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    inProtocolErrors(async () => {
      // a refusal names the URI, more than once
      if (uri.length > MAX_URI)
        throw new GatewayError('invalid_request', `uri: must have at most ${MAX_URI} characters`);
      const contents = await resources.read(uri, context);
      if (contents === undefined) throw new ResourceNotFoundError(uri);
      return { contents };
    }),
  );
}
