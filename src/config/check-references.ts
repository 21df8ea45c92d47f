/** Checks what a configuration says about its own parts: agents, models, aliases, tool groups. */
import { listAgents, primaryModel } from '../core/agents.ts';
import {
  SCRIPTED_MODEL,
  formatModel,
  modelForSpawn,
  modelOfSession,
  pricesOf,
  resolveModel,
} from '../core/models.ts';
import type { ModelRef } from '../core/models.ts';
import { fold } from '../core/key-grammar.ts';
import { normaliseAgentId } from '../core/keys.ts';
import { unknownToolGroups } from '../core/tool-names.ts';
import type { Config } from '../protocol/options/config.ts';
import type { ToolPolicyEntry } from '../protocol/options/tool-options.ts';
import { mcpErrors, mcpWarnings } from './check-mcp-servers.ts';
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
    errors: [
      ...idErrors(agents),
      ...aliasErrors(config),
      ...modelErrors(config, agents),
      ...budgetErrors(config, agents),
      ...mcpErrors(config),
    ],
    warnings: [
      ...defaultWarnings(agents),
      ...allowListWarnings(config, agents),
      ...aliasWarnings(config),
      ...toolListWarnings(config, agents),
      ...providerKeyWarnings(config, agents),
      ...mcpWarnings(config),
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

/** A budget in dollars could not count a model without prices (A22). */
function budgetErrors(config: Config, placed: PlacedAgent[]): ConfigIssue[] {
  const byDefault = config.agents.defaults.budget;
  return listAgents(config).flatMap((agent) => {
    if ((agent.budget ?? byDefault)?.usd === undefined) return [];
    const own = placed.find(({ id }) => agent.budget !== undefined && id === agent.id);
    const path = formatPath([...(own?.path ?? ['agents', 'defaults']), 'budget', 'usd']);
    const errorOf = (who: string, model: ModelRef): ConfigIssue[] => {
      if (pricesOf(config, model) !== undefined) return [];
      const message = `${who} ${formatModel(model)}, which has no prices; set cost of the model in models.providers, or limit tokens`;
      return [{ path, message }];
    };
    const model = modelOfSession(config, agent);
    const ofChild = modelForSpawn(config, { agent, caller: model });
    const isOther = ofChild.ok && formatModel(ofChild.model) !== formatModel(model);
    return [
      ...errorOf(`agent "${agent.id}" uses`, model),
      ...(isOther ? errorOf(`sub-agents of agent "${agent.id}" use`, ofChild.model) : []),
    ];
  });
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
      if (name.trim() === '*' || known.has(fold(name))) return [];
      const message = `no agent "${briefly(name)}" is configured; add it to agents.list, or take the entry out`;
      return [{ path: formatPath([...path, 'subagents', 'allowAgents', index]), message }];
    }),
  );
}

function toolListWarnings(config: Config, agents: PlacedAgent[]): ConfigIssue[] {
  const places = [
    { path: ['tools', 'subagents', 'tools'], lists: config.tools.subagents.tools },
    ...policyPlaces(['tools'], config.tools),
    ...agents.flatMap(({ path, settings }) => policyPlaces([...path, 'tools'], settings.tools)),
  ];
  return places.flatMap(({ path, lists }) =>
    (['allow', 'deny'] as const).flatMap((list) =>
      unknownToolGroups(lists[list] ?? []).map((name) => ({
        path: formatPath([...path, list]),
        message: `"${briefly(name)}" is no group of tools; the entry has no effect`,
      })),
    ),
  );
}

/** A policy, and what it says for single providers and models. */
function policyPlaces(
  path: PathSegment[],
  policy: AgentEntry['tools'],
): { path: PathSegment[]; lists: ToolPolicyEntry }[] {
  const ofProviders = Object.entries(policy.byProvider).map(([key, lists]) => ({
    path: [...path, 'byProvider', key],
    lists,
  }));
  return [{ path, lists: policy }, ...ofProviders];
}

/** A key of `byProvider` that can be no model's narrows nothing, which its author should hear. */
function providerKeyWarnings(config: Config, agents: PlacedAgent[]): ConfigIssue[] {
  const providers = [SCRIPTED_MODEL.provider, ...Object.keys(config.models.providers)];
  const known = new Set(providers.map((provider) => provider.toLowerCase()));
  const policies = [{ path: [], settings: config }, ...agents];
  return policies.flatMap(({ path, settings }) => {
    const keys = Object.keys(settings.tools.byProvider);
    const seen = new Set<string>();
    return keys.flatMap((key) => {
      const folded = key.trim().toLowerCase();
      const [provider = ''] = folded.split('/');
      const isTwice = seen.has(folded);
      seen.add(folded);
      if (known.has(provider) && !isTwice) return [];
      const why = isTwice ? 'is there twice' : 'names no provider of models.providers';
      const message = `"${briefly(key)}" ${why}; the entry has no effect`;
      return [{ path: formatPath([...path, 'tools', 'byProvider', key]), message }];
    });
  });
}
