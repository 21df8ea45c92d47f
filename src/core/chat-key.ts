/** The session that a chat's messages belong to, as long as no routing rule says another (B2.1). */
import type { ChatType } from '../protocol/words.ts';
import { canonicalKey, mainKeyOf, type SessionScopeSetting } from './keys.ts';

export interface Chat {
  channel: string;
  type: ChatType;
  /** of a direct chat the person, else the group or channel */
  id: string;
  threadId?: string | undefined;
}

/**
 * Returns the key: of a direct chat the agent's main session, of a group or channel one of its own, and
 * of each thread of it too. An id that no key can hold is an error that says why.
 */
export function chatKeyOf(
  { channel, type, id, threadId }: Chat,
  settings: { agentId: string; mainKey: string; scope?: SessionScopeSetting },
): { ok: true; key: string } | { ok: false; error: string } {
  const { agentId, mainKey, scope } = settings;
  if (type === 'direct') return { ok: true, key: mainKeyOf(agentId, mainKey, scope) };
  const thread = threadId === undefined ? '' : `:thread:${threadId}`;
  const text = `agent:${agentId}:${channel}:${type}:${id}${thread}`;
  const key = canonicalKey(text, { mainKey, agentId, ...(scope === undefined ? {} : { scope }) });
  return key.ok ? { ok: true, key: key.key } : key;
}
