/** The limits of children, with two gateways on one database that spawn at the same time. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import type { Life } from './helpers/kill-world.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

type Json = Record<string, unknown>;

const server = await startPostgres();
after(() => server.stop());

const SESSIONS = [0, 1].map((number) => `agent:main:webchat:direct:${number}`);
const LIMITS = { maxChildrenPerAgent: 3, maxChildrenPerSession: 5, announce: { mode: 'silent' } };
const GOING = `select count(*)::int as going from runs where purpose = 'task'
  and state in ('queued', 'running')`;

async function spawn({ client }: Life, sessionKey: string): Promise<Json> {
  const params = { tool: 'sessions_spawn', args: { task: 'SAY: x' }, sessionKey };
  return (await client.request<{ result: Json }>('tools.invoke', params)).result;
}

/** Both gateways spawn at the same moment: one child fits, and the refusals name the limit. */
async function race([a, b]: readonly [Life, Life], key: string): Promise<string> {
  const answers = await Promise.all([spawn(a, key), spawn(b, key), spawn(a, key)]);
  const statuses = answers.map(({ status }) => String(status)).toSorted();
  assert.deepEqual(statuses, ['accepted', 'forbidden', 'forbidden']);
  const limits = answers.flatMap(({ error }) => /\.(max\w+ is \d)/.exec(String(error))?.[1] ?? []);
  assert.equal(limits[0], limits[1]);
  return limits[0] ?? '';
}

test('[SP5, SP11, BR-134] two gateways at a limit of children accept exactly the one more that fits', async (t) => {
  const world = await makePostgresWorld(t, server, { agents: { defaults: { subagents: LIMITS } } });
  const gateways = await Promise.all([world.start(), world.start()]);
  const [a, b] = gateways;
  for (const key of SESSIONS) {
    const held = world.model.hold('You are a sub-agent');
    await a.wait(await a.send(key, 'SAY: hi'));
    for (const gateway of gateways) assert.equal((await spawn(gateway, key))['status'], 'accepted');
    assert.equal(await race(gateways, key), 'maxChildrenPerAgent is 3');
    held.release();
    await world.becomes(GOING, 0);
    assert.equal((await spawn(b, key))['status'], 'accepted');
    assert.equal(await race(gateways, key), 'maxChildrenPerSession is 5');
    await world.becomes(GOING, 0);
  }
  const counted = await world.query(
    `select session_key, children_spawned from windows where children_spawned > 0 order by 1`,
  );
  assert.deepEqual(
    counted,
    SESSIONS.map((key) => ({ session_key: key, children_spawned: 5 })),
  );
});
