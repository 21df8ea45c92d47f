import type { JobWrites } from '../follow-up-repository.ts';
import type { StoreSignal, WriteTx } from '../store.ts';
import { SqlAttachments } from './attachments.ts';
import { SqlCalls } from './calls.ts';
import { SqlAudit } from './audit.ts';
import { SqlBudgets } from './budgets.ts';
import { SqlDeliveries } from './deliveries.ts';
import { SqlDevices } from './devices.ts';
import { SqlEntries } from './entries.ts';
import { SqlExchanges } from './exchanges.ts';
import { SqlInputs } from './inputs.ts';
import { SqlJobs } from './jobs.ts';
import { SqlLanes } from './lanes.ts';
import { SqlPurge } from './purge.ts';
import { SqlPairings } from './pairings.ts';
import { SqlRuns } from './runs.ts';
import { SqlSearch } from './search.ts';
import { SqlSessions } from './sessions.ts';
import { SqlSpawns } from './spawns.ts';
import type { SqlUnit } from './sql-unit.ts';
import { SqlToolCalls } from './tool-calls.ts';
import { SqlUsage } from './usage.ts';
import { SqlWaits } from './waits.ts';
import { SqlWindows } from './windows.ts';

/** The tx of one unit; it serves reads as well, whose type offers no writes. */
export class SqlTx implements WriteTx {
  readonly now: number;
  readonly sessions: SqlSessions;
  readonly windows: SqlWindows;
  readonly entries: SqlEntries;
  readonly search: SqlSearch;
  readonly inputs: SqlInputs;
  readonly runs: SqlRuns;
  readonly lanes: SqlLanes;
  readonly toolCalls: SqlToolCalls;
  readonly usage: SqlUsage;
  readonly budgets: SqlBudgets;
  readonly waits: SqlWaits;
  readonly exchanges: SqlExchanges;
  readonly spawns: SqlSpawns;
  readonly deliveries: SqlDeliveries;
  readonly attachments: SqlAttachments;
  readonly calls: SqlCalls;
  readonly audit: SqlAudit;
  readonly devices: SqlDevices;
  readonly pairings: SqlPairings;
  readonly jobs: JobWrites;
  readonly purge: SqlPurge;
  readonly #signals: StoreSignal[] = [];

  /** `jobs`: where the database has a job queue of its own */
  constructor(unit: SqlUnit, jobs: JobWrites = new SqlJobs(unit)) {
    this.now = unit.now;
    this.sessions = new SqlSessions(unit);
    this.windows = new SqlWindows(unit);
    this.entries = new SqlEntries(unit);
    this.search = new SqlSearch(unit);
    this.inputs = new SqlInputs(unit);
    this.runs = new SqlRuns(unit);
    this.lanes = new SqlLanes(unit);
    this.toolCalls = new SqlToolCalls(unit);
    this.usage = new SqlUsage(unit);
    this.budgets = new SqlBudgets(unit);
    this.waits = new SqlWaits(unit);
    this.exchanges = new SqlExchanges(unit);
    this.spawns = new SqlSpawns(unit);
    this.deliveries = new SqlDeliveries(unit);
    this.attachments = new SqlAttachments(unit);
    this.calls = new SqlCalls(unit);
    this.audit = new SqlAudit(unit);
    this.devices = new SqlDevices(unit);
    this.pairings = new SqlPairings(unit);
    this.jobs = jobs;
    this.purge = new SqlPurge(unit);
  }

  signal(signal: StoreSignal): void {
    this.#signals.push(signal);
  }

  /** What to tell listeners once the unit is committed. */
  get signals(): readonly StoreSignal[] {
    return this.#signals;
  }
}
