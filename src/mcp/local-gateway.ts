/** The gateway as `/mcp` reaches it: in the same process. */
import type { SessionCaller } from '../core/caller.ts';
import { maskSecrets } from '../core/mask-secrets.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { parseMethodParams } from '../protocol/methods.ts';
import type { Services } from '../service/services.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { Logger } from '../util/logger.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface LocalGatewayParts {
  services: Pick<Services, 'openClientSession' | 'resolveCaller' | 'takeInboxNews'>;
  invokeTool: (call: {
    caller: SessionCaller;
    tool: string;
    args: Record<string, unknown>;
  }) => Promise<object>;
  listTools: (caller: SessionCaller) => Promise<OfferedTool[]>;
  logger: Logger;
}

/** Returns the gateway behind these use cases. */
export function createLocalGateway({
  services,
  invokeTool,
  listTools,
  logger,
}: LocalGatewayParts): McpGateway {
  const as = (sessionKey: string) => services.resolveCaller(sessionKey);
  /** a name or key has the bounds that it has at the other doors */
  const open = async (wanted: { clientName: string } | { key: string }): Promise<string> =>
    (await services.openClientSession(parseMethodParams('sessions.create', wanted))).key;
  const told = <Answer>(work: Promise<Answer>): Promise<Answer> =>
    work.catch((thrown: unknown) => {
      throw toTold(thrown, logger);
    });
  return {
    openSession: ({ name, sessionKey }) => {
      const wanted = sessionKey === undefined ? { clientName: name } : { key: sessionKey };
      return told(open(wanted));
    },
    listTools: (sessionKey) => told(as(sessionKey).then(listTools)),
    invoke: ({ sessionKey, tool, args, gone }) =>
      told(
        as(sessionKey).then((caller) => invokeTool({ caller: { ...caller, gone }, tool, args })),
      ),
    takeNews: (sessionKey) => told(as(sessionKey).then(services.takeInboxNews)),
  };
}

/** The library tells a client the text of whatever is thrown: no cause of a fault and no credential may be in it. */
function toTold(thrown: unknown, logger: Logger): GatewayError {
  const error = toGatewayError(thrown);
  if (error.code === 'internal') logger.error({ err: thrown }, 'an MCP request failed');
  const { code, details } = error;
  return new GatewayError(
    code,
    maskSecrets(error.message),
    details === undefined ? {} : { details },
  );
}
