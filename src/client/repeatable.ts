/** Which calls may be made again when nobody knows whether the gateway has done them (A13). */
import type { MethodName } from '../protocol/methods.ts';

/** Methods that change nothing; a test compares them with the table of methods. */
export const READ_METHODS: readonly MethodName[] = [
  'health',
  'status',
  'sessions.list',
  'sessions.search',
  'sessions.windows',
  'sessions.get',
  'sessions.preview',
  'sessions.resolve',
  'sessions.subscribe',
  'sessions.unsubscribe',
  'sessions.messages.subscribe',
  'sessions.messages.unsubscribe',
  'chat.history',
  'agent.wait',
  'runs.get',
  'runs.list',
  'runs.wait',
  'exchanges.get',
  'exchanges.list',
  'usage',
  'deliveries.list',
  'audit.list',
  'models.list',
  'system-presence',
  'agents.list',
  'tools.catalog',
  'calls.get',
  'calls.list',
  'policy.explain',
  'device.pair.list',
  'device.list',
];
/** Methods that find again what they have made or ended. */
const FINDING_METHODS: readonly string[] = ['sessions.create', 'calls.cancel'];
/** Methods whose key names the job: the same call again is the same job. */
const KEYED_METHODS: readonly string[] = [
  'chat.send',
  'sessions.send',
  'chat.inject',
  'agent',
  'send',
  'calls.start',
];
const KEYED_TOOLS: readonly unknown[] = ['sessions_send', 'sessions_spawn', 'sessions_stop'];
const READ_TOOLS: readonly unknown[] = [
  'sessions_list',
  'sessions_history',
  'sessions_search',
  'sessions_wait',
  'agents_list',
  // a reply names its message
  'sessions_inbox',
];

/** Methods that wait, up to the `timeoutMs` of their parameters. */
const WAIT_METHODS: ReadonlyMap<string, number> = new Map([
  // with what the gateway takes when they name none
  ['agent.wait', 30_000],
  ['runs.wait', 30_000],
  ['calls.get', 0],
]);

/** Returns whether a call that was sent and not answered has the same effect once it is sent again. */
export function isRepeatable(method: string, params: object): boolean {
  const { tool, idempotencyKey }: { tool?: unknown; idempotencyKey?: unknown } = params;
  const isKeyed = typeof idempotencyKey === 'string';
  if (method === 'tools.invoke')
    return READ_TOOLS.includes(tool) || (isKeyed && KEYED_TOOLS.includes(tool));
  return (
    READ_METHODS.some((name) => name === method) ||
    FINDING_METHODS.includes(method) ||
    (isKeyed && KEYED_METHODS.includes(method))
  );
}

/** Returns how long a call waits at the gateway, or undefined for one that does not wait. */
export function waitMsOf(method: string, params: object): number | undefined {
  const defaultMs = WAIT_METHODS.get(method);
  if (defaultMs === undefined) return undefined;
  const { timeoutMs }: { timeoutMs?: unknown } = params;
  return typeof timeoutMs === 'number' ? timeoutMs : defaultMs;
}
