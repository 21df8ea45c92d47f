import type { McpDoor } from '../gateway/http-routes.ts';
import type { McpHttpDoor } from '../mcp/create-http-door.ts';
import { createLocalGateway } from '../mcp/local-gateway.ts';
import type { McpOffer } from '../mcp/create-mcp-server.ts';
import type { LocalGatewayParts } from '../mcp/local-gateway.ts';
import type { Config } from '../protocol/options/config.ts';
import { TRUNKLINE_VERSION } from './version.ts';

/** Returns what answers `/mcp`. The library behind it is loaded at the first request. */
export function mcpDoor({
  config,
  logger,
  extend,
  ...parts
}: LocalGatewayParts & {
  config: () => Config;
  extend?: ((offer: McpOffer) => McpOffer) | undefined;
}): McpDoor {
  const settings = () => config().gateway.http.endpoints.mcp;
  let door: Promise<McpHttpDoor> | undefined;
  const load = async (): Promise<McpHttpDoor> => {
    const { createMcpHttpDoor } = await import('../mcp/create-http-door.ts');
    return createMcpHttpDoor({
      gateway: createLocalGateway({ ...parts, logger }),
      version: TRUNKLINE_VERSION,
      maxWaitSeconds: () => settings().maxWaitSeconds,
      logger,
      extend,
    });
  };
  return {
    isOpen: () => settings().enabled,
    answer: async (request, body) => {
      door ??= load();
      return (await door)(request, body);
    },
  };
}
