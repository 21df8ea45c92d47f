/** How much the session tools take and give at a time; the doors beside them keep to the same. */

export const LIST_LIMIT_MAX = 200;
export const LIST_MESSAGES_MAX = 20;
export const HISTORY_LIMIT_MAX = 1000;
export const SEARCH_LIMIT_MAX = 100;
/** notes that one answer of `sessions_inbox` hands over */
export const INBOX_NOTES_MAX = 50;
/** runs that one call may wait for */
export const WAIT_TARGETS_MAX = 100;
/** Longest texts that are taken, in characters: of labels, filters, models and idempotency keys; */
export const NAME_MAX = 256;
/** of session keys and sessionIds; */
export const KEY_MAX = 512;
/** of cursors, which hold a key; */
export const CURSOR_MAX = 4096;
/** of messages and tasks. */
export const WORDS_MAX = 1_000_000;
/** seconds */
export const WAIT_TIMEOUT_MAX = 3600;
/** Deferred calls of one session that are kept at a time. */
export const CALLS_MAX = 500;
/** How long one is kept beyond its wait when nothing is asked for, and at least a tenth of that; */
export const CALL_KEPT_MS = 600_000;
/** and at most, from its beginning. */
export const CALL_TTL_MAX_MS = 86_400_000;
/** Seconds that a call waits which names none. */
export const WAIT_TIMEOUT_DEFAULT = 30;
