/** Settings about who may do what that fit nobody or change nothing (A6, B6, B9). */
import { matchesAny } from '../core/access.ts';
import { listAgents } from '../core/agents.ts';
import { idleSendRules } from '../core/idle-send-rules.ts';
import { namesNobody } from '../core/owner.ts';
import type { Config } from '../protocol/options/config.ts';
import { briefly } from '../util/briefly.ts';
import { formatPath } from './config-issue.ts';
import type { ConfigIssue } from './config-issue.ts';

/** Returns a warning for each of them, which says what to do. */
export function policyWarnings(config: Config): ConfigIssue[] {
  return [...sendRuleWarnings(config), ...agentToAgentWarnings(config), ...ownerWarnings(config)];
}

function sendRuleWarnings({ session }: Config): ConfigIssue[] {
  return idleSendRules(session.sendPolicy, session).map(({ index, field, message }) => {
    const rule = ['session', 'sendPolicy', 'rules', index];
    const path = formatPath(field === undefined ? rule : [...rule, 'match', field]);
    return { path, message };
  });
}

function agentToAgentWarnings(config: Config): ConfigIssue[] {
  const agents = listAgents(config);
  return (config.tools.agentToAgent.allow ?? []).flatMap((entry, index) => {
    if (agents.some(({ id }) => matchesAny([entry], id))) return [];
    const path = formatPath(['tools', 'agentToAgent', 'allow', index]);
    const message = `no agent "${briefly(entry)}" is configured; add it to agents.list, or take the entry out`;
    return [{ path, message }];
  });
}

function ownerWarnings({ commands }: Config): ConfigIssue[] {
  return (commands.ownerAllowFrom ?? []).flatMap((entry, index) => {
    if (!namesNobody(String(entry))) return [];
    const path = formatPath(['commands', 'ownerAllowFrom', index]);
    return [{ path, message: 'makes nobody an owner; name a sender, as <channel>:<id> or <id>' }];
  });
}
