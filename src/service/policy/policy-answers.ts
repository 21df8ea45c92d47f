/** What may be asked about who may do what, and what is told of it. */
import type { GrantRule, RefusalRule } from '../../core/refusals.ts';
import type { PolicyVerb } from '../../protocol/words.ts';

/** May session `as` do this? The session it is about is named as the tool of the verb names it. */
export interface ExplainPolicy {
  /** absent = `main`; a `message` is the operator's */
  as?: string;
  verb: PolicyVerb;
  /** key or sessionId */
  to?: string;
  label?: string;
  agentId?: string;
  /** what `stop` and `wait` name instead of a session */
  runId?: string;
  /** asked as a call of this run of `as`: its chain of messages counts, and what waits for it */
  inRun?: string;
  /** further arguments, as the tool would be given them */
  args?: Record<string, unknown>;
}

export interface PolicyExplanation {
  allowed: boolean;
  as: string;
  verb: PolicyVerb;
  /** the session tool of the verb */
  tool?: string;
  /** canonical key of the session that it is about */
  to?: string;
  rule: GrantRule | RefusalRule;
  /** the rule in words */
  says: string;
  /** what decides it in the configuration, with the values in force; `null` = not set */
  settings: { name: string; value: unknown }[];
  /** what the session itself would be told */
  status?: 'error' | 'forbidden';
  error?: string;
}
