/** Archive and purge where several gateways share a database. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import { callTools } from './crash/scenarios.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';
const CHILD = "select count(*)::int from sessions where key like 'agent:main:subagent:%'";

it('[AR7, AR9, AR12, PG4] a child is deleted once announced, a session is reset and purged, whichever gateway does it', async (t) => {
  const world = await makePostgresWorld(t, server);
  const [a, b] = [await world.start(), await world.start()];
  const task = callTools(['sessions_spawn', { task: 'SAY: SECRET', cleanup: 'delete' }]);
  const runId = await a.send(MAIN, `${task}\nSAY: spawned`, 'first');
  assert.equal((await b.wait(runId)).status, 'ok');
  await world.becomes(`${CHILD} and deleted_at is not null and archived_at is not null`, 1);
  await world.settled();
  const [child] = await world.query('select child_key as key from spawns');
  const deletion = { key: child?.['key'], deleteTranscript: true };
  await b.client.request('sessions.delete', deletion);
  await world.becomes(CHILD, 0);
  const secret =
    "select count(*)::int from entries where json like '%SECRET%' and role = 'assistant'";
  await world.becomes(`${secret} and session_id not in (select session_id from windows)`, 0);
  const before = await a.client.request('sessions.reset', { key: MAIN });
  const after = await b.client.request('chat.history', { sessionKey: MAIN });
  assert.equal(after['sessionId'], before['sessionId']);
  assert.deepEqual(after['messages'], []);
  const old = await b.client.request('chat.history', { sessionKey: before['previousSessionId'] });
  assert.equal((old['messages'] as unknown[]).length > 0, true);
});
