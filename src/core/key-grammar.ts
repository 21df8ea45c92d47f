/**
 * The grammar of a session key behind `agent:<id>:` (A4), read left to right. Literal words, channel
 * names and UUIDs are folded; the ids of chats, peers, threads, jobs and nodes stay as they were given
 * and are never searched.
 *
 *   main            <mainKey>
 *   main thread     <mainKey>:thread:<id>
 *   subagent        subagent:<id>[:subagent:<id>…][:thread:<id>]
 *   cron, hook      cron:<job…>   hook:<id…>
 *   node            node-<id>     node:<id>
 *   direct          [<channel>[:<account>]:](direct|dm):<peer…>
 *   group           [<channel>:]group:<id…>
 *   channel, room   <channel>:(channel|room):<id…>
 *   mcp             mcp:<name…>
 *   other           anything else, kept as given
 */

export type KeyForm =
  | 'main'
  | 'group'
  | 'channel'
  | 'room'
  | 'subagent'
  | 'direct'
  | 'cron'
  | 'hook'
  | 'node'
  | 'mcp'
  | 'other'
  | 'global'
  | 'unknown';

/** What stands behind `agent:<id>:`. `text` is its canonical spelling. */
export interface KeyBody {
  form: KeyForm;
  text: string;
  channel?: string;
  /** opaque id, everything behind the last literal word */
  id?: string;
  accountId?: string;
  threadId?: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns whether the whole text is a UUID, in any case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Returns the canonical spelling of a literal word, a channel or an agent id. */
export function fold(text: string): string {
  return text.trim().toLowerCase();
}

/** Returns the body, or undefined when a part that must be there is empty. */
export function parseKeyBody(text: string, mainKey: string): KeyBody | undefined {
  const [head, tail] = cut(text);
  const word = fold(head);
  if (word === '') return undefined;
  if (word === mainKey || word === 'main') return parseMain(tail, mainKey);
  if (word === 'subagent') return parseSubagent(tail);
  if (word === 'cron' || word === 'hook') return withId(word, `${word}:`, tail);
  if (word === 'node' && tail !== undefined) return withId('node', 'node:', tail);
  if (/^\s*node-/i.test(text)) return withId('node', 'node-', text.trim().slice('node-'.length));
  if (tail === undefined) return { form: 'other', text: text.trim() };
  if (word === 'group') return withId('group', 'group:', tail);
  if (word === 'direct' || word === 'dm') return withId('direct', `${word}:`, tail);
  if (word === 'acp') return withId('other', 'acp:', tail);
  if (word === 'mcp') return withId('mcp', 'mcp:', tail);
  const chat = parseChat(word, tail);
  return chat === null ? { form: 'other', text: text.trim() } : chat;
}

/** Splits at the first colon; the tail is undefined when there is none. */
function cut(text: string): [string, string | undefined] {
  const at = text.indexOf(':');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Returns an id as it is stored: a UUID in lower case. */
export function foldUuid(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

function withId(form: KeyForm, prefix: string, tail: string | undefined): KeyBody | undefined {
  if (tail === undefined || tail.trim() === '') return undefined;
  // Only the ids that we make ourselves are UUIDs to fold; a chat's id may look like one and differ by case.
  const id = form === 'hook' || prefix === 'acp:' ? foldUuid(tail.trim()) : tail.trim();
  return { form, text: prefix + id, id };
}

function parseMain(tail: string | undefined, mainKey: string): KeyBody | undefined {
  if (tail === undefined) return { form: 'main', text: mainKey };
  const [word, thread] = cut(tail);
  if (fold(word) !== 'thread') return { form: 'other', text: `${mainKey}:${tail.trim()}` };
  if (thread === undefined || thread.trim() === '') return undefined;
  const threadId = thread.trim();
  return { form: 'other', text: `${mainKey}:thread:${threadId}`, threadId };
}

function parseSubagent(tail: string | undefined): KeyBody | undefined {
  if (tail === undefined) return undefined;
  const [head, rest] = cut(tail);
  const id = foldUuid(head.trim());
  if (id === '') return undefined;
  const text = `subagent:${id}`;
  if (rest === undefined) return { form: 'subagent', text, id };
  const [word, inner] = cut(rest);
  if (fold(word) === 'subagent') {
    const nested = parseSubagent(inner);
    return (
      nested && { ...nested, text: `${text}:${nested.text}`, id: `${id}:subagent:${nested.id}` }
    );
  }
  if (fold(word) === 'thread' && inner !== undefined && inner.trim() !== '') {
    const threadId = inner.trim();
    return { form: 'subagent', text: `${text}:thread:${threadId}`, id, threadId };
  }
  if (rest.trim() === '') return undefined;
  return { form: 'subagent', text: `${text}:${rest.trim()}`, id: `${id}:${rest.trim()}` };
}

const CHAT_FORMS: ReadonlyMap<string, KeyForm> = new Map([
  ['group', 'group'],
  ['channel', 'channel'],
  ['room', 'room'],
  ['direct', 'direct'],
  ['dm', 'direct'],
  ['slash', 'other'],
]);

/** Reads `<channel>:<word>:<id>` and `<channel>:<account>:direct:<peer>`; null = the text is neither. */
function parseChat(channel: string, tail: string): KeyBody | undefined | null {
  const [first, id] = cut(tail);
  const form = CHAT_FORMS.get(fold(first));
  if (form !== undefined) {
    const body = withId(form, `${channel}:${fold(first)}:`, id);
    return body && { ...body, channel };
  }
  const accountId = first.trim();
  const [second, peer] = cut(id ?? '');
  if (accountId === '' || CHAT_FORMS.get(fold(second)) !== 'direct') return null;
  const body = withId('direct', `${channel}:${accountId}:${fold(second)}:`, peer);
  return body && { ...body, channel, accountId };
}
