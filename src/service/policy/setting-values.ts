/** The settings behind a rule, with their values in force. */
import { findAgent } from '../../core/agents.ts';
import { type DecidedBy, type Refusal, settingsOf } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';

const OF_AGENT = 'agents.list[].';

/** Returns name and value of each setting that a rule depends on; `null` = not set. None of them is a secret. */
export function settingValues(
  config: Config,
  about: DecidedBy & {
    /** what the refusal itself names */
    setting?: Refusal['setting'] | undefined;
    /** agent of the session that asks; undefined = the operator */
    agentId: string | undefined;
  },
): { name: string; value: unknown }[] {
  if (about.setting?.value !== undefined) {
    return [{ name: about.setting.name, value: about.setting.value }];
  }
  const names = about.setting === undefined ? settingsOf(about) : [about.setting.name];
  return names.map((name) => ({
    name,
    value: valueOf(config, { name, agentId: about.agentId }) ?? null,
  }));
}

function valueOf(
  config: Config,
  { name, agentId }: { name: string; agentId: string | undefined },
): unknown {
  if (name.startsWith(OF_AGENT)) {
    return agentId === undefined
      ? undefined
      : valueAt(findAgent(config, agentId), name.slice(OF_AGENT.length));
  }
  return valueAt(config, name);
}

/** `a.b[2].c` */
function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const segment of path.split(/[.[\]]+/).filter((part) => part !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[segment];
  }
  return value;
}
