/** Rules of `session.sendPolicy` that decide nothing: without one of them, every decision is the same. */
import { CHANNELS } from '../protocol/words.ts';
import { nearestName } from '../util/nearest-name.ts';
import type { SendPolicy, SendPolicyRule } from './send-policy.ts';
import {
  canKeyBegin,
  canMeet,
  canRawKeyBegin,
  isWithin,
  reachOf,
  type RuleReach,
} from './send-rule-reach.ts';

/** Why a rule decides nothing, and what to do. */
export interface IdleRule {
  index: number;
  /** the condition that no session meets; absent = the rule as a whole is idle */
  field?: 'channel' | 'keyPrefix' | 'rawKeyPrefix';
  message: string;
}

interface Placed {
  index: number;
  action: SendPolicyRule['action'];
  reach: RuleReach;
}

/** Names of chat services that are no misspelling of ours. */
const OTHER_CHANNELS = new Set(['wechat']);
const MISSPELT_WITHIN_LETTERS = 2;

/** Returns the idle rules, each once; all of them may be taken out together. */
export function idleSendRules(policy: SendPolicy, { mainKey }: { mainKey: string }): IdleRule[] {
  const rules = (policy.rules ?? []).map((rule, index): Placed => {
    return { index, action: rule.action, reach: reachOf(rule) };
  });
  const unmet = rules.map(({ index, reach }) => unmetCondition(reach, { index, mainKey }));
  const live = rules.filter(({ index }) => unmet[index] === undefined);
  return rules.flatMap((rule) => {
    const idle = unmet[rule.index] ?? withoutEffect(rule, { live, policy });
    return idle === undefined ? [] : [idle];
  });
}

function unmetCondition(
  reach: RuleReach,
  { index, mainKey }: { index: number; mainKey: string },
): IdleRule | undefined {
  const { channel, body, raw } = reach;
  const flaw = channel === undefined ? undefined : channelFlaw(channel);
  if (flaw !== undefined) return { index, field: 'channel', message: flaw };
  if (body !== undefined && !canKeyBegin({ body, mainKey })) {
    const message = body.startsWith('agent:')
      ? 'fits no session: it is compared with the key behind agent:<id>:; use rawKeyPrefix for the whole key'
      : `fits no session: no session key begins so behind agent:<id>:${hintOf(body, mainKey)}`;
    return { index, field: 'keyPrefix', message };
  }
  if (raw !== undefined && !canRawKeyBegin({ raw, mainKey })) {
    const message =
      'fits no session: a whole session key begins with agent:<id>:, cron:, hook:, node- or node:; use keyPrefix for what stands behind the agent';
    return { index, field: 'rawKeyPrefix', message };
  }
  if (canMeet(reach, reach)) return undefined;
  return {
    index,
    message: 'fits no session: no key begins with both keyPrefix and rawKeyPrefix; leave one out',
  };
}

function channelFlaw(channel: string): string | undefined {
  if (channel === '') return 'fits no session: it is blank; leave it out to mean every channel';
  if (CHANNELS.some((name) => name === channel) || OTHER_CHANNELS.has(channel)) return undefined;
  const near = nearestName(channel, CHANNELS, { within: MISSPELT_WITHIN_LETTERS });
  return near === undefined ? undefined : `is no channel; did you mean "${near}"?`;
}

function hintOf(body: string, mainKey: string): string {
  return body.startsWith('main') && mainKey !== 'main' ? `; the main key is "${mainKey}"` : '';
}

function withoutEffect(
  rule: Placed,
  { live, policy }: { live: readonly Placed[]; policy: SendPolicy },
): IdleRule | undefined {
  const { index, action, reach } = rule;
  const isAllowed = policy.default !== 'deny';
  if (action === 'allow' && isAllowed) {
    const message =
      'has no effect: the default is "allow", and a deny wins over every allow; take it out, or set the default to "deny"';
    return { index, message };
  }
  const denies = live.filter((other) => other.action === 'deny');
  const cover = [...denies, ...live.filter((other) => other.action === action)].find((other) =>
    covers(other, rule),
  );
  if (cover !== undefined) {
    const message = `has no effect: rules[${cover.index}] (${cover.action}) decides for every session that it fits; take one of them out`;
    return { index, message };
  }
  if (action === 'allow' || isAllowed) return undefined;
  const allows = live.filter((other) => other.action === 'allow');
  if (allows.some((other) => canMeet(reach, other.reach))) return undefined;
  const message =
    'has no effect: the default is "deny", and no allow reaches a session that it fits; take it out';
  return { index, message };
}

/** Of two rules that say the same the earlier one counts. */
function covers(other: Placed, rule: Placed): boolean {
  if (other.index === rule.index || !isWithin(rule.reach, other.reach)) return false;
  if (other.action !== rule.action || !isWithin(other.reach, rule.reach)) return true;
  return other.index < rule.index;
}
