/** A gateway killed around each unit that counts a budget: what was reserved is settled once, and nothing is lost (A22). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { CRASH_CONFIG } from '../helpers/gateway-process.ts';
import { makeKillWorld } from '../helpers/kill-world.ts';

const MAIN = 'agent:main:main';
const AGENTS = { ...CRASH_CONFIG.agents, defaults: { budget: { tokens: 1_000_000 } } };
/** Each call uses 1000 tokens; before the first one nothing is known, so that 1 is reserved for it. */
const USED = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0 };

/** Where it is killed, and what two calls have spent in the end: a call that was lost counts what was held for it. */
const CASES: [crash: string, tokens: number][] = [
  ['claim-run:before:1', 2000],
  ['claim-run:after:1', 2001],
  ['plan-tools:before:1', 2001],
  ['plan-tools:after:1', 2000],
  ['append-tool-results:before:1', 2000],
  ['append-tool-results:after:1', 3000],
  ['close-run:before:1', 3000],
  ['close-run:after:1', 2000],
];

describe('budgets over a kill', { concurrency: 2 }, () => {
  for (const [crash, tokens] of CASES) {
    it(`[BU7] killed at ${crash}: counted once, nothing stays reserved`, async (t) => {
      const world = await makeKillWorld(t, { agents: AGENTS });
      world.model.usage = USED;
      const first = await world.start({ crash });
      const text = 'TOOL: sessions_list {}\nSAY: done';
      const sent = first.send(MAIN, text, 'once').catch(() => {});
      await first.process.exited;
      await sent;
      const next = await world.start();
      const { status } = await next.wait(await next.send(MAIN, text, 'once'));
      assert.equal(status, 'ok');
      await world.end();
      const database = new DatabaseSync(world.database, { readOnly: true });
      t.after(() => database.close());
      const one = (sql: string) => ({ ...database.prepare(sql).get() });
      const sums = 'spent_tokens, spent_runs, reserved_tokens, reserved_nanos';
      assert.deepEqual(one(`select ${sums} from budgets where owner_key = '${MAIN}'`), {
        spent_tokens: tokens,
        spent_runs: 1,
        reserved_tokens: 0,
        reserved_nanos: 0,
      });
      assert.deepEqual(one('select count(*) as holds from budget_holds'), { holds: 0 });
    });
  }
});
