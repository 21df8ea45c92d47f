/** What a question of `policy.explain` may name, by its verb: what the answer would not look at is refused. */
import { GatewayError } from '../../protocol/errors.ts';
import { parseToolArgs } from '../../protocol/tools/parse-tool-args.ts';
import type { SessionToolArgs } from '../../protocol/tools/session-tool-arg-schemas.ts';
import type { SessionToolName } from '../../protocol/tools/session-tools.ts';
import type { PolicyVerb } from '../../protocol/words.ts';
import type { ExplainPolicy } from './policy-answers.ts';

/** Nothing is asked of a person yet, so `ask` has no tool. */
const TOOLS: Partial<Record<PolicyVerb, SessionToolName>> = {
  list: 'sessions_list',
  read: 'sessions_history',
  search: 'sessions_search',
  send: 'sessions_send',
  exchange: 'sessions_send',
  spawn: 'sessions_spawn',
  stop: 'sessions_stop',
  wait: 'sessions_wait',
};

type Name = Exclude<keyof ExplainPolicy, 'as' | 'verb'>;
const NAMES = ['to', 'label', 'agentId', 'runId', 'inRun', 'args'] as const satisfies Name[];
const OF_SESSION: readonly Name[] = ['to', 'label', 'agentId', 'inRun', 'args'];
const OF_RUN: readonly Name[] = ['to', 'runId', 'inRun', 'args'];
const TAKEN: Record<PolicyVerb, readonly Name[]> = {
  list: OF_SESSION,
  read: OF_SESSION,
  search: OF_SESSION,
  send: OF_SESSION,
  exchange: OF_SESSION,
  spawn: ['agentId', 'inRun', 'args'],
  stop: OF_RUN,
  wait: OF_RUN,
  ask: ['to', 'label', 'agentId', 'inRun'],
  message: ['to', 'agentId'],
};

/** Returns the session tool of a verb, undefined = it has none. */
export function toolOf(verb: PolicyVerb): SessionToolName | undefined {
  return TOOLS[verb];
}

/** Throws `invalid_request` for a name that the verb does not take, and for two that name two things. */
export function checkQuestion(query: ExplainPolicy): void {
  const { verb, to, label, agentId, runId } = query;
  if (verb === 'message' && query.as !== undefined) {
    throw wrong('a message is the operator’s; leave "as" out');
  }
  const untaken = NAMES.find((name) => query[name] !== undefined && !TAKEN[verb].includes(name));
  if (untaken !== undefined) {
    throw wrong(`${verb} takes ${TAKEN[verb].join(', ')}; leave "${untaken}" out`);
  }
  const isTwice = verb !== 'message' && (label ?? agentId ?? runId) !== undefined;
  if (to !== undefined && isTwice) {
    throw wrong(
      `"to" names the session; leave ${TAKEN[verb] === OF_RUN ? 'runId' : 'label and agentId'} out`,
    );
  }
}

/** Returns the arguments as the tool would have them; those of which it would say that they are wrong are a wrong question. */
export function parsedArgs<Tool extends SessionToolName>(
  tool: Tool,
  args: Record<string, unknown>,
): SessionToolArgs[Tool] {
  const parsed = parseToolArgs(tool, args);
  if (parsed.ok) return parsed.args;
  throw wrong(`args: ${parsed.error}`);
}

function wrong(why: string): GatewayError {
  return new GatewayError('invalid_request', `policy.explain: ${why}`);
}
