/** The budgets that a session is under: its own and those of the sessions above it (A22). */
import { type AgentSettings, findAgent, listAgents } from '../../core/agents.ts';
import { type Budget, freshBudget } from '../../core/budget.ts';
import { type BudgetKind, type BudgetLimits, limitsOf } from '../../core/budget-limits.ts';
import { isSubagentKey, parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { giveBudget, toBudget } from './budget-rows.ts';

type Place = Pick<SessionRow, 'key' | 'rootKey' | 'spawnedBy'>;

/**
 * Returns the budgets that count what a session does, that of its root first. The root's limits are what the
 * configuration says now, so that a reload changes them at once; its row is made with the first need of it.
 */
export function budgetsOver(tx: WriteTx, config: Config, place: Place): Promise<Budget[]> {
  return budgetsWith(tx, config, {
    place,
    makeRoot: (limits) => giveBudget(tx, { ownerKey: place.rootKey, limits }),
  });
}

/** Returns the same as far as something was counted yet, and writes nothing. */
export function readBudgetsOver(tx: ReadTx, config: Config, place: Place): Promise<Budget[]> {
  return budgetsWith(tx, config, {
    place,
    makeRoot: (limits) => freshBudget(place.rootKey, limits),
  });
}

/** Whether the configuration may limit the tree of this root now; false = it does not. */
export function mayHaveRootBudget(config: Config, rootKey: string): boolean {
  const { agentId } = parseKey(rootKey);
  const agents = agentId === undefined ? listAgents(config) : [findAgent(config, agentId)];
  return agents.some((agent) => limitsOfRoot(config, agent) !== undefined);
}

/** Returns what to do when a limit of this budget is used up. */
export async function remedyOf(
  tx: ReadTx,
  config: Config,
  { ownerKey, kind }: { ownerKey: string; kind: BudgetKind },
): Promise<string> {
  if (isSubagentKey(ownerKey)) return `its spawn gave it; spawn again with more budget.${kind}`;
  const agent = await rootAgentOf(tx, config, ownerKey);
  const setting =
    agent?.budget === undefined
      ? `agents.defaults.budget.${kind}`
      : `agents.list[].budget.${kind} of agent ${agent.id}`;
  return `raise ${setting}, or reset the session`;
}

/** `makeRoot`: the budget of a root of which nothing was counted yet. */
async function budgetsWith(
  tx: ReadTx,
  config: Config,
  {
    place,
    makeRoot,
  }: { place: Place; makeRoot: (limits: BudgetLimits) => Budget | Promise<Budget> },
): Promise<Budget[]> {
  const { rootKey } = place;
  const given = await givenBudgets(tx, place);
  const limits = limitsOfRoot(config, await rootAgentOf(tx, config, rootKey));
  if (limits === undefined) return given;
  const row = await tx.budgets.get(rootKey);
  const root = row === undefined ? await makeRoot(limits) : toBudget(row);
  return [{ ...root, limits }, ...given];
}

/** Budgets that spawns gave: of the session itself and of those between it and its root. */
async function givenBudgets(tx: ReadTx, place: Place): Promise<Budget[]> {
  const { key, rootKey, spawnedBy } = place;
  if (spawnedBy === null) return [];
  const own = await tx.budgets.get(key);
  const above = await tx.budgets.above(key);
  return [...above.filter((row) => row.ownerKey !== rootKey), ...(own ? [own] : [])].map(toBudget);
}

/** An empty budget of an agent is none, whatever the default one says. */
function limitsOfRoot(config: Config, agent: AgentSettings | undefined): BudgetLimits | undefined {
  const settings = agent?.budget ?? config.agents.defaults.budget;
  if (settings === undefined) return undefined;
  const limits = limitsOf(settings);
  return Object.values(limits).every((limit) => limit === null) ? undefined : limits;
}

/** Not every key names its agent; then the row does, which is there as long as anything is below it. */
async function rootAgentOf(
  tx: ReadTx,
  config: Config,
  rootKey: string,
): Promise<AgentSettings | undefined> {
  const agentId = parseKey(rootKey).agentId ?? (await tx.sessions.get(rootKey))?.agentId;
  return agentId === undefined ? undefined : findAgent(config, agentId);
}
