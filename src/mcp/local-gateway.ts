/** The gateway as `/mcp` reaches it: in the same process. */
import type { SessionCaller } from '../core/caller.ts';
import { maskSecrets } from '../core/mask-secrets.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { parseMethodParams } from '../protocol/methods.ts';
import type { Services } from '../service/services.ts';
import type { CallStarted } from '../protocol/answers/call-answers.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { Logger } from '../util/logger.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface LocalGatewayParts {
  services: Pick<
    Services,
    | 'openClientSession'
    | 'resolveCaller'
    | 'takeInboxNews'
    | 'readCall'
    | 'listCalls'
    | 'cancelCall'
  >;
  invokeTool: (call: {
    caller: SessionCaller;
    tool: string;
    args: Record<string, unknown>;
  }) => Promise<object>;
  listTools: (caller: SessionCaller) => Promise<OfferedTool[]>;
  startCall: (call: {
    caller: SessionCaller;
    tool: string;
    args: Record<string, unknown>;
    ttlMs?: number | undefined;
  }) => Promise<CallStarted>;
  logger: Logger;
}

/** Returns the gateway behind these use cases. */
export function createLocalGateway({
  services,
  invokeTool,
  listTools,
  startCall,
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
    startCall: ({ sessionKey, ...call }) =>
      told(as(sessionKey).then((caller) => startCall({ ...call, caller }))),
    readCall: ({ sessionKey, signal, ...query }) => {
      const wait = signal === undefined ? query : { ...query, signal };
      return told(as(sessionKey).then((caller) => services.readCall(caller, wait)));
    },
    listCalls: ({ sessionKey, cursor }) => {
      const query = cursor === undefined ? {} : { cursor };
      return told(as(sessionKey).then((caller) => services.listCalls(caller, query)));
    },
    cancelCall: ({ sessionKey, callId }) =>
      told(as(sessionKey).then((caller) => services.cancelCall(caller, callId))),
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
