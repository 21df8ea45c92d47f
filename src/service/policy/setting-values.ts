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

/** `a.b[2].c`; a name may hold dots and brackets of its own, as those of models do. */
function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    const [place = '', index] = /^\[(\d+)\]\.?/.exec(path) ?? [];
    return index === undefined
      ? undefined
      : valueAt(value[Number(index)], path.slice(place.length));
  }
  const [named] = Object.entries(value)
    .map(([name, item]) => [name.trim(), item] as const)
    .filter(([name]) => path.startsWith(name) && /^(?:[.[]|$)/.test(path.slice(name.length)))
    .toSorted(([one], [other]) => other.length - one.length);
  return named && valueAt(named[1], path.slice(named[0].length).replace(/^\./, ''));
}
