/** Whether text may be sent into a session's chat (B6, A6). */
import type { ChatType, SendPolicyAction } from '../protocol/words.ts';
import { fold } from './key-grammar.ts';

/** One rule of `session.sendPolicy`; all fields of `match` must hold, an empty match holds for every session. */
export interface SendPolicyRule {
  match?:
    | {
        channel?: string | undefined;
        /** `direct` (also `dm`), `group`, `channel` (also `room`) */
        chatType?: string | undefined;
        /** prefix of the key without `agent:<id>:` */
        keyPrefix?: string | undefined;
        /** prefix of the whole key */
        rawKeyPrefix?: string | undefined;
      }
    | undefined;
  action: SendPolicyAction;
}
export interface SendPolicy {
  rules?: readonly SendPolicyRule[] | undefined;
  default?: SendPolicyAction | undefined;
}

export interface SendPolicySession {
  key: string;
  channel: string;
  chatType: ChatType;
  /** override of this session, null = inherit */
  sendPolicy: SendPolicyAction | null;
}

/** The refusal, the same words at every door. */
export const SEND_BLOCKED_TEXT = 'send blocked by session policy';

/**
 * Returns the decision and the setting that made it: the session's own override, else the first deny
 * that matches, else the first allow that matches, else the default.
 */
export function decideSendPolicy(
  policy: SendPolicy | undefined,
  session: SendPolicySession,
): { allowed: boolean; rule: string } {
  if (session.sendPolicy !== null) {
    return { allowed: session.sendPolicy === 'allow', rule: 'session override' };
  }
  const rules = policy?.rules ?? [];
  for (const action of ['deny', 'allow'] as const) {
    const index = rules.findIndex((rule) => rule.action === action && matches(rule, session));
    if (index >= 0) {
      return { allowed: action === 'allow', rule: `session.sendPolicy.rules[${index}]` };
    }
  }
  return { allowed: policy?.default !== 'deny', rule: 'session.sendPolicy.default' };
}

function matches(rule: SendPolicyRule, session: SendPolicySession): boolean {
  const { channel, chatType, keyPrefix, rawKeyPrefix } = rule.match ?? {};
  const key = session.key.toLowerCase();
  if (channel !== undefined && fold(channel) !== fold(session.channel)) return false;
  if (chatType !== undefined && toChatType(chatType) !== session.chatType) return false;
  if (keyPrefix !== undefined && !withoutAgent(key).startsWith(fold(keyPrefix))) return false;
  return rawKeyPrefix === undefined || key.startsWith(fold(rawKeyPrefix));
}

/** Returns the chat type that a word means, `dm` and `room` included, or undefined. */
export function toChatType(word: string): ChatType | undefined {
  switch (fold(word)) {
    case 'direct':
    case 'dm':
      return 'direct';
    case 'group':
      return 'group';
    case 'channel':
    case 'room':
      return 'channel';
    default:
      return undefined;
  }
}

/** Returns what a `keyPrefix` is compared with: the key without `agent:<id>:`. */
export function withoutAgent(key: string): string {
  return key.replace(/^agent:[^:]*:/, '');
}
