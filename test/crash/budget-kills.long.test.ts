/** A gateway killed around each unit that counts a budget: what was reserved is settled once, and nothing is lost (A22). */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
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
      const { rows } = read(t, world.database);
      const sums = 'spent_tokens, spent_runs, reserved_tokens, reserved_nanos, going, counted_to';
      assert.deepEqual(rows(`select ${sums} from budgets where owner_key = ?`, MAIN), [
        {
          spent_tokens: tokens,
          spent_runs: 1,
          reserved_tokens: 0,
          reserved_nanos: 0,
          going: 0,
          counted_to: null,
        },
      ]);
      assert.deepEqual(rows('select * from budget_holds'), []);
    });
  }

  for (const crash of ['accept-spawn:before:1', 'accept-spawn:after:1']) {
    it(`[BU3] killed at ${crash}: the child has its budget, once`, async (t) => {
      const world = await makeKillWorld(t, { agents: AGENTS });
      world.model.usage = USED;
      const first = await world.start({ crash });
      const task = { task: 'SAY: below', budget: { tokens: 5000 } };
      const text = `TOOL: sessions_spawn ${JSON.stringify(task)}\nSAY: done`;
      const sent = first.send(MAIN, text, 'once').catch(() => {});
      await first.process.exited;
      await sent;
      const next = await world.start();
      await next.wait(await next.send(MAIN, text, 'once'));
      await world.end();
      const { rows } = read(t, world.database);
      // its task and its announce
      assert.deepEqual(
        rows(
          'select spent_runs, spent_tokens, limit_tokens, going from budgets where owner_key <> ?',
          MAIN,
        ),
        [{ spent_runs: 2, spent_tokens: 2000, limit_tokens: 5000, going: 0 }],
      );
    });
  }

  it('[BU1] killed in its closing turn: it has that turn again, still without tools', async (t) => {
    const agents = { ...CRASH_CONFIG.agents, defaults: { budget: { tokens: 1500 } } };
    const world = await makeKillWorld(t, { agents });
    world.model.usage = USED;
    const first = await world.start({ crash: 'close-run:before:1' });
    const text = 'TOOL: sessions_list {}\nTOOL: sessions_list {}\nSAY: done';
    const sent = first.send(MAIN, text, 'once').catch(() => {});
    await first.process.exited;
    await sent;
    const next = await world.start();
    const { status } = await next.wait(await next.send(MAIN, text, 'once'));
    assert.equal(status, 'error');
    await world.end();
    assert.equal(world.model.requests.length, 3);
    for (const { body } of world.model.requests.slice(1)) assert.equal(body['tools'], undefined);
    const { rows } = read(t, world.database);
    assert.deepEqual(rows('select spent_tokens, reserved_tokens, going from budgets'), [
      // what was held for the lost call, and the one that was made again
      { spent_tokens: 1000 + 500 + 1000, reserved_tokens: 0, going: 0 },
    ]);
    const [run] = rows('select error from runs');
    assert.match(
      String(run?.['error']),
      /budget of agent:main:main is used up: 1500 of 1500 tokens/,
    );
  });
});

function read(t: TestContext, path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const rows = (sql: string, ...values: string[]) =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row }));
  return { rows };
}
