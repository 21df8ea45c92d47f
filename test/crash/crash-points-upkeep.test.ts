/** What a gateway does for itself as it starts, killed in the middle of it. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import type { GatewayClient } from '../../src/client/gateway-client.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { callTools } from './scenarios.ts';

const CLOCKS = `select archive_at as archives, run_at as due from sessions
  left join jobs on job_key = 'archive-session:' || key where archive_at is not null`;

for (const when of ['before', 'after'] as const) {
  it(`[RC2] just ${when} rearm-clocks: every session that is to be archived has its job after the next start`, async (t) => {
    const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
    const gateway = await openGateway(t, stateDir);
    await send(gateway.client, `${callTools(['sessions_spawn', { task: 'SAY: done' }])}\nSAY: ok`);
    await gateway.settled();
    await gateway.close();
    const [clock] = query(stateDir, CLOCKS);
    assert.ok(clock?.['archives'] !== undefined && clock['archives'] === clock['due']);
    // as a restored store may be
    query(stateDir, "delete from jobs where kind = 'archive-session'");

    const killed = startGatewayProcess(t, { stateDir, crash: `rearm-clocks:${when}:1` });
    assert.equal((await killed.exited).signal, 'SIGKILL');
    assert.deepEqual(query(stateDir, CLOCKS), [when === 'after' ? clock : { ...clock, due: null }]);

    await (await openGateway(t, stateDir)).close();
    assert.deepEqual(query(stateDir, CLOCKS), [clock]);
  });
}

async function send(client: GatewayClient, message: string): Promise<string> {
  const params = { sessionKey: 'main', message, idempotencyKey: 'one' };
  return String((await client.request('chat.send', params))['runId']);
}

function query(stateDir: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(databaseOf(stateDir));
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}
