/** The session tools by name, and what each of them answers when it refuses. */
export const SESSION_TOOL_NAMES = [
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'sessions_spawn',
  'agents_list',
  'sessions_wait',
  'sessions_stop',
  'sessions_search',
  'sessions_inbox',
] as const;
export type SessionToolName = (typeof SESSION_TOOL_NAMES)[number];

/** A call that had no effect: bad arguments or an unknown target (`error`), or a rule that refused it (`forbidden`). */
export interface ToolRefusal {
  status: 'error' | 'forbidden';
  /** what failed and what to do next */
  error: RefusalText;
}

declare const isNamed: unique symbol;
/** A text that belongs to a name in the closed list of refusals, where alone it is made (`core/refusals.ts`). */
export type RefusalText = string & { readonly [isNamed]: true };

/** True when the answer of any session tool is a refusal or a failure. */
export function isToolFailure(answer: object): boolean {
  return 'status' in answer && (answer.status === 'error' || answer.status === 'forbidden');
}
