/**
 * What an owner may set from a chat (A6, B14): a message that is a command and nothing else. Everything
 * else that begins with `/`, and every text that one session sends to another, is plain text.
 */
import type { SendPolicyAction } from '../protocol/words.ts';

/** A command; `setting` is undefined when its argument is none of those it takes. */
export interface OwnerCommand {
  name: 'send';
  setting: SendSetting | undefined;
}
export type SendSetting = 'on' | 'off' | 'inherit';

/** What each argument of `/send` makes of the session's own send policy; null = inherited. */
const SEND_SETTINGS: ReadonlyMap<SendSetting, SendPolicyAction | null> = new Map([
  ['on', 'allow'],
  ['off', 'deny'],
  ['inherit', null],
]);

/**
 * Returns the command that a message is: one line, `/send`, an optional `:` and its argument, in any
 * case; undefined for every other text.
 */
export function parseOwnerCommand(text: string): OwnerCommand | undefined {
  const line = text.trim();
  if (/[\r\n\u2028\u2029]/.test(line)) return undefined;
  const parts = /^\/send(?:\s*:|\s|$)(.*)$/i.exec(line);
  if (parts === null) return undefined;
  const argument = parts[1]?.trim().toLowerCase();
  const setting = [...SEND_SETTINGS.keys()].find((name) => name === argument);
  return { name: 'send', setting };
}

/** Returns the override that `/send` stores for this setting. */
export function overrideOf(setting: SendSetting): SendPolicyAction | null {
  return SEND_SETTINGS.get(setting) ?? null;
}

/** Returns the one line that confirms `/send`; `decision` is what holds from now on. */
export function sendConfirmation(
  setting: SendSetting | undefined,
  decision: { allowed: boolean; rule: string },
): string {
  switch (setting) {
    case 'on':
      return 'Sending is on for this session, whatever session.sendPolicy says.';
    case 'off':
      return 'Sending is off for this session: it takes no messages of clients and sessions, and nothing goes out. Undo it with /send on or /send inherit.';
    case 'inherit':
      return `Sending is ${decision.allowed ? 'on' : 'off'} for this session, as ${decision.rule} says.`;
    default:
      return 'Nothing was changed: /send takes on, off or inherit.';
  }
}
