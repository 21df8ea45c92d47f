/** Checks what a configuration says about its own parts: agents, models, aliases, tool groups. */
import { listAgents, primaryModel } from '../core/agents.ts';
import { SCRIPTED_MODEL, modelOfSession, resolveModel } from '../core/models.ts';
import { normaliseAgentId } from '../core/keys.ts';
import { unknownToolGroups } from '../core/tool-policy.ts';
import type { Config } from '../protocol/options/config.ts';
import { formatPath } from './config-issue.ts';
import type { ConfigIssue, PathSegment } from './config-issue.ts';
import { briefly } from '../util/briefly.ts';

type AgentEntry = Config['agents']['entries'][string];

interface PlacedAgent {
  id: string;
  path: PathSegment[];
  settings: AgentEntry;
}

/** Returns what does not fit together: errors stop the gateway, warnings are shown. */
export function checkReferences(config: Config): {
  errors: ConfigIssue[];
  warnings: ConfigIssue[];
} {
  const agents = placedAgents(config);
  return {
    errors: [...idErrors(agents), ...aliasErrors(config), ...modelErrors(config, agents)],
    warnings: [
      ...defaultWarnings(agents),
      ...allowListWarnings(config, agents),
      ...aliasWarnings(config),
      ...toolListWarnings(config, agents),
    ],
  };
}

function placedAgents(config: Config): PlacedAgent[] {
  const { list, entries } = config.agents;
  return [
    ...list.map((settings, index) => ({
      id: settings.id,
      path: ['agents', 'list', index],
      settings,
    })),
    ...Object.entries(entries).map(([id, settings]) => ({
      id: id.trim().toLowerCase(),
      path: ['agents', 'entries', id],
      settings,
    })),
  ];
}

function idErrors(agents: PlacedAgent[]): ConfigIssue[] {
  const seen = new Set<string>();
  return agents.flatMap(({ id, path }) => {
    if (normaliseAgentId(id) !== id) {
      const message = 'is no agent id; use 1 to 64 letters, digits, "_" or "-"';
      return [{ path: formatPath(path), message }];
    }
    if (seen.has(id))
      return [{ path: formatPath(path), message: `agent "${id}" is configured twice` }];
    seen.add(id);
    return [];
  });
}

function modelErrors(config: Config, agents: PlacedAgent[]): ConfigIssue[] {
  const errors: ConfigIssue[] = [];
  const check = (name: string | undefined, path: PathSegment[]) => {
    if (name === undefined) return;
    const resolved = resolveModel(config, name);
    if (!resolved.ok) errors.push({ path: formatPath(path), message: resolved.error });
  };
  const { defaults } = config.agents;
  check(primaryModel(defaults.model), ['agents', 'defaults', 'model']);
  check(primaryModel(defaults.subagents.model), ['agents', 'defaults', 'subagents', 'model']);
  for (const { path, settings } of agents) {
    check(primaryModel(settings.model), [...path, 'model']);
    check(primaryModel(settings.subagents.model), [...path, 'subagents', 'model']);
  }
  if (Object.hasOwn(config.models.providers, SCRIPTED_MODEL.provider)) {
    const message = 'the name belongs to the built-in scripted runtime; choose another';
    errors.push({ path: 'models.providers.scripted', message });
  }
  if (lacksModel(config)) {
    const message = 'is missing: no provider lists a model to take; name one as "provider/id"';
    errors.push({ path: 'agents.defaults.model', message });
  }
  return errors;
}

/** Whether an agent would silently fall back to the scripted model although providers are configured. */
function lacksModel(config: Config): boolean {
  const { providers } = config.models;
  if (Object.keys(providers).length === 0 || config.agents.defaults.model !== undefined)
    return false;
  return listAgents(config).some(
    (agent) =>
      agent.model === undefined &&
      modelOfSession(config, agent).provider === SCRIPTED_MODEL.provider,
  );
}

function aliasErrors(config: Config): ConfigIssue[] {
  const seen = new Set<string>();
  return Object.entries(config.agents.defaults.models).flatMap(([key, value]) => {
    const alias = typeof value === 'string' ? key : value.alias;
    if (alias === undefined) return [];
    const folded = alias.trim().toLowerCase();
    const path = formatPath(['agents', 'defaults', 'models', key]);
    if (seen.has(folded)) return [{ path, message: `alias "${briefly(alias)}" is given twice` }];
    seen.add(folded);
    return [];
  });
}

function aliasWarnings(config: Config): ConfigIssue[] {
  return Object.entries(config.agents.defaults.models).flatMap(([key, value]) => {
    const target = typeof value === 'string' ? value : key;
    const resolved = resolveModel(config, target);
    const path = formatPath(['agents', 'defaults', 'models', key]);
    return resolved.ok ? [] : [{ path, message: resolved.error }];
  });
}

function defaultWarnings(agents: PlacedAgent[]): ConfigIssue[] {
  return agents
    .filter((agent) => agent.settings.default)
    .slice(1)
    .map(({ path }) => ({
      path: formatPath([...path, 'default']),
      message: 'has no effect: another agent before it is the default one',
    }));
}

function allowListWarnings(config: Config, agents: PlacedAgent[]): ConfigIssue[] {
  const known = new Set(listAgents(config).map((agent) => agent.id));
  const lists = [{ path: ['agents', 'defaults'], settings: config.agents.defaults }, ...agents];
  return lists.flatMap(({ path, settings }) =>
    (settings.subagents.allowAgents ?? []).flatMap((name, index) => {
      if (name.trim() === '*' || known.has(normaliseAgentId(name))) return [];
      const message = `no agent "${briefly(name)}" is configured; the entry has no effect`;
      return [{ path: formatPath([...path, 'subagents', 'allowAgents', index]), message }];
    }),
  );
}

function toolListWarnings(config: Config, agents: PlacedAgent[]): ConfigIssue[] {
  const stages = [
    { path: ['tools'], stage: config.tools },
    { path: ['tools', 'subagents', 'tools'], stage: config.tools.subagents.tools },
    ...agents.map(({ path, settings }) => ({ path: [...path, 'tools'], stage: settings.tools })),
  ];
  return stages.flatMap(({ path, stage }) =>
    (['allow', 'deny'] as const).flatMap((list) =>
      unknownToolGroups(stage[list] ?? []).map((name) => ({
        path: formatPath([...path, list]),
        message: `"${briefly(name)}" is no group of tools; the entry has no effect`,
      })),
    ),
  );
}
