/** What may be asked about who may do what, and what is told of it. */
import type { GrantRule, RefusalRule } from '../../core/refusals.ts';
import type { PolicyExplained } from '../../protocol/answers/policy-answers.ts';
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

/** The answer, its rule one of the catalogue. */
export interface PolicyExplanation extends PolicyExplained {
  rule: GrantRule | RefusalRule;
}
