/** The gateway as `/mcp` reaches it: in the same process. */
import type { SessionCaller } from '../core/caller.ts';
import type { Services } from '../service/services.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface LocalGatewayParts {
  services: Pick<Services, 'openClientSession' | 'resolveCaller' | 'takeInboxNews'>;
  invokeTool: (call: {
    caller: SessionCaller;
    tool: string;
    args: Record<string, unknown>;
  }) => Promise<object>;
  listTools: (caller: SessionCaller) => Promise<OfferedTool[]>;
}

/** Returns the gateway behind these use cases. */
export function createLocalGateway({
  services,
  invokeTool,
  listTools,
}: LocalGatewayParts): McpGateway {
  return {
    openSession: async ({ name, sessionKey }) => {
      const wanted = sessionKey === undefined ? { clientName: name } : { key: sessionKey };
      return (await services.openClientSession(wanted)).key;
    },
    listTools: async (sessionKey) => listTools(await services.resolveCaller(sessionKey)),
    invoke: async ({ sessionKey, tool, args }) =>
      invokeTool({ caller: await services.resolveCaller(sessionKey), tool, args }),
    takeNews: async (sessionKey) =>
      services.takeInboxNews(await services.resolveCaller(sessionKey)),
  };
}
