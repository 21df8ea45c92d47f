/** What is told of who may do what. */
import type { PolicyVerb } from '../words.ts';

export interface PolicyExplained {
  allowed: boolean;
  as: string;
  verb: PolicyVerb;
  /** the session tool of the verb */
  tool?: string;
  /** canonical key of the session that it is about */
  to?: string;
  /** the rule that decides */
  rule: string;
  /** the rule in words */
  says: string;
  /** what decides it in the configuration, with the values in force; `null` = not set */
  settings: { name: string; value: unknown }[];
  /** what the session itself would be told */
  status?: 'error' | 'forbidden';
  error?: string;
}
