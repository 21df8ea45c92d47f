/** Which agent and session a completion is for (B15). */
import { createHash, randomUUID } from 'node:crypto';
import { userKeyOf } from '../../core/keys.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { briefly } from '../../util/briefly.ts';
import type { CompletionRequest } from './completion-request.ts';

/** Names of models that mean an agent: `<name>`, `<name>/default`, `<name>/<agentId>`, `<name>:<agentId>`. */
const NAMES = ['openclaw', 'trunkline'];

export interface CompletionTarget {
  /** absent = as the session key says */
  agentId?: string;
  sessionKey: string;
  /** nobody will write to this session again: what was said before comes with the message */
  isOnce: boolean;
}
export interface ConfiguredAgents {
  defaultId: string;
  agents: readonly { id: string }[];
}

/** Returns the models that `GET /v1/models` lists. */
export function modelNames({ agents }: ConfiguredAgents): string[] {
  return ['trunkline/default', ...agents.map(({ id }) => `trunkline/${id}`)];
}

/** Returns agent and session: by header, else by `user`, else a session of this call's own. */
export function targetOf(
  headers: Headers,
  { request, configured }: { request: CompletionRequest; configured: ConfiguredAgents },
): CompletionTarget {
  const named = agentOf(headers.get('x-openclaw-agent-id') ?? request.model, configured);
  const sessionKey = headers.get('x-openclaw-session-key')?.trim() ?? '';
  if (sessionKey !== '') {
    const isOfAgent = sessionKey.toLowerCase().startsWith('agent:');
    const agent = named === undefined || isOfAgent ? {} : { agentId: named };
    return { ...agent, sessionKey, isOnce: false };
  }
  const { user } = request;
  const agentId = named ?? configured.defaultId;
  return {
    agentId,
    sessionKey: userKeyOf({ agentId, program: 'openai', user: user ?? onceName(headers) }),
    isOnce: user === undefined,
  };
}

/** The same job has the same session, else its repeat would be another message. */
function onceName(headers: Headers): string {
  const idempotencyKey = headers.get('idempotency-key');
  if (idempotencyKey === null) return randomUUID();
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32);
}

/** Returns the agent that a model names; undefined = the default one, which it leaves open. Throws `not_found`. */
export function agentOf(name: string, { agents }: ConfiguredAgents): string | undefined {
  const folded = name.trim().toLowerCase();
  const [, agentId = folded] = /^(?:openclaw|trunkline|agent)[/:](.+)$/.exec(folded) ?? [];
  if (NAMES.includes(folded) || agentId === 'default') return undefined;
  const agent = agents.find(({ id }) => id === agentId);
  if (agent !== undefined) return agent.id;
  throw new GatewayError(
    'not_found',
    `no model "${briefly(name)}" here; GET /v1/models lists them, each an agent`,
  );
}
