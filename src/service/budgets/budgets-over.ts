/** The budgets that a session is under: its own and those of the sessions above it (A22). */
import { type AgentSettings, findAgent } from '../../core/agents.ts';
import { type Budget, type BudgetKind, type BudgetLimits, limitsOf } from '../../core/budget.ts';
import { isSubagentKey, parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { BudgetRow } from '../../store/budget-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';

type Place = Pick<SessionRow, 'key' | 'rootKey' | 'spawnedBy'>;

/**
 * Returns the budgets that count what a session does, that of its root first. The root's limits are what the
 * configuration says now; its row is made with the first need of it, so that without a budget there is none.
 */
export async function budgetsOver(tx: WriteTx, config: Config, place: Place): Promise<Budget[]> {
  const root = await rootBudget(tx, config, place.rootKey);
  return [...(root === undefined ? [] : [root]), ...(await givenBudgets(tx, place))];
}

/** Returns the same as far as something was counted yet, and writes nothing. */
export async function readBudgetsOver(tx: ReadTx, config: Config, place: Place): Promise<Budget[]> {
  const limits = rootLimits(config, place.rootKey);
  const row = limits === undefined ? undefined : await tx.budgets.get(place.rootKey);
  const root =
    limits === undefined ? [] : [{ ...toBudget(row ?? newRow(place.rootKey, 0)), limits }];
  return [...root, ...(await givenBudgets(tx, place))];
}

/** Gives a budget to a session that has just been made. */
export function giveBudget(
  tx: WriteTx,
  { ownerKey, limits }: { ownerKey: string; limits: BudgetLimits },
): Promise<void> {
  return tx.budgets.insert({ ...newRow(ownerKey, tx.now), ...limitColumns(limits) });
}

/** A new transcript is a new beginning: what was spent under this session so far counts no longer. */
export async function restartBudget(tx: WriteTx, ownerKey: string): Promise<void> {
  if ((await tx.budgets.get(ownerKey)) === undefined) return;
  await tx.budgets.update(ownerKey, { spentTokens: 0, spentNanos: 0, spentRuns: 0, spentMs: 0 });
}

/** Writes what has been counted. */
export function saveBudget(tx: WriteTx, { ownerKey, spent, reserved }: Budget): Promise<void> {
  return tx.budgets.update(ownerKey, {
    spentTokens: spent.tokens,
    spentNanos: spent.usd,
    spentRuns: spent.runs,
    spentMs: spent.seconds,
    reservedTokens: reserved.tokens,
    reservedNanos: reserved.usd,
  });
}

export function toBudget(row: BudgetRow): Budget {
  const { ownerKey, reservedTokens, reservedNanos } = row;
  return {
    ownerKey,
    limits: {
      tokens: row.limitTokens,
      usd: row.limitNanos,
      runs: row.limitRuns,
      seconds: row.limitMs,
    },
    spent: {
      tokens: row.spentTokens,
      usd: row.spentNanos,
      runs: row.spentRuns,
      seconds: row.spentMs,
    },
    reserved: { tokens: reservedTokens, usd: reservedNanos },
  };
}

/** Returns which setting a budget's limit comes from, and how work goes on. */
export function settingOf(config: Config, ownerKey: string, kind: BudgetKind): string {
  if (isSubagentKey(ownerKey)) return `budget.${kind} of the spawn that made it`;
  const agent = agentOf(config, ownerKey);
  const setting =
    agent?.budget === undefined
      ? `agents.defaults.budget.${kind}`
      : `agents.list[].budget.${kind} of agent ${agent.id}`;
  return `raise ${setting}, or reset the session`;
}

async function rootBudget(
  tx: WriteTx,
  config: Config,
  rootKey: string,
): Promise<Budget | undefined> {
  const limits = rootLimits(config, rootKey);
  if (limits === undefined) return undefined;
  const row = await tx.budgets.get(rootKey);
  if (row === undefined) {
    await giveBudget(tx, { ownerKey: rootKey, limits });
    return { ...toBudget(newRow(rootKey, tx.now)), limits };
  }
  const columns = limitColumns(limits);
  const isChanged = Object.entries(columns).some(
    ([column, limit]) => row[column as keyof typeof columns] !== limit,
  );
  if (isChanged) await tx.budgets.update(rootKey, columns);
  return { ...toBudget(row), limits };
}

/** Budgets that spawns gave: of the session itself and of those between it and its root. */
async function givenBudgets(tx: ReadTx | WriteTx, place: Place): Promise<Budget[]> {
  const { key, rootKey, spawnedBy } = place;
  if (spawnedBy === null) return [];
  const own = await tx.budgets.get(key);
  const above = await tx.budgets.above(key);
  return [...above.filter((row) => row.ownerKey !== rootKey), ...(own ? [own] : [])].map(toBudget);
}

function rootLimits(config: Config, rootKey: string): BudgetLimits | undefined {
  const settings = agentOf(config, rootKey)?.budget ?? config.agents.defaults.budget;
  return settings === undefined ? undefined : limitsOf(settings);
}

function agentOf(config: Config, key: string): AgentSettings | undefined {
  const { agentId } = parseKey(key);
  return agentId === undefined ? undefined : findAgent(config, agentId);
}

function limitColumns({ tokens, usd, runs, seconds }: BudgetLimits) {
  return { limitTokens: tokens, limitNanos: usd, limitRuns: runs, limitMs: seconds };
}

function newRow(ownerKey: string, now: number): BudgetRow {
  return {
    ownerKey,
    limitTokens: null,
    limitNanos: null,
    limitRuns: null,
    limitMs: null,
    spentTokens: 0,
    spentNanos: 0,
    spentRuns: 0,
    spentMs: 0,
    reservedTokens: 0,
    reservedNanos: 0,
    createdAt: now,
  };
}
