/** What several gateways on one database may rely on, with stores of one process. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, describe, it, type TestContext } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { input, run, session } from '../contract/samples.suite.ts';
import type { Store, StoreSignal } from '../store.ts';
import { MIGRATIONS } from '../sql/schema.ts';
import { openPostgresStore, type PostgresStoreOptions } from './open-postgres-store.ts';
import { startPostgres } from './postgres-server.suite.ts';
import { startPooler } from './transaction-pooler.suite.ts';

const server = await startPostgres();
after(() => server.stop());

let made = 0;
function freshDatabase(): Promise<string> {
  made += 1;
  return server.createDatabase(`shared-${made}`);
}

/** Opens a gateway's store; it is closed with the test. */
async function open(
  t: TestContext,
  url: string,
  given: Partial<PostgresStoreOptions> = {},
): Promise<Store> {
  const bootId = `gateway ${(made += 1)}`;
  const store = await openPostgresStore({ url, logger: silentLogger, bootId, ...given });
  t.after(() => store.close());
  return store;
}

/** Calls back with each signal until the wanted one has come. */
function signalled(
  store: Store,
  isWanted: (signal: StoreSignal) => boolean,
): Promise<StoreSignal[]> {
  const seen: StoreSignal[] = [];
  const { promise, resolve } = Promise.withResolvers<StoreSignal[]>();
  const stop = store.onSignal((signal) => {
    seen.push(signal);
    if (!isWanted(signal)) return;
    stop();
    resolve(seen);
  });
  return promise;
}

describe('units of several gateways', () => {
  it('[PG6] that meet lose no change', async (t) => {
    const url = await freshDatabase();
    const stores = [await open(t, url), await open(t, url)];
    await stores[0]?.write('add', (tx) => tx.sessions.insert(session('k')));
    const count = (store: Store) =>
      store.write('count', async (tx) => {
        const row = await tx.sessions.get('k');
        await tx.sessions.update('k', { inputTokens: (row?.inputTokens ?? 0) + 1 });
      });
    await Promise.all(stores.flatMap((store) => Array.from({ length: 40 }, () => count(store))));
    const row = await stores[1]?.read((tx) => tx.sessions.get('k'));
    assert.equal(row?.inputTokens, 80);
  });

  it('[PG6] that look before they write do so as if one came after the other', async (t) => {
    const url = await freshDatabase();
    const stores = [await open(t, url), await open(t, url)];
    const takeTurn = (store: Store, turn: number) =>
      store.write('take', async (tx) => {
        if ((await tx.sessions.findByLabel({ label: `turn ${turn}`, limit: 1 })).length > 0)
          return 0;
        await tx.sessions.insert(session(`${made++}`, { label: `turn ${turn}` }));
        return 1;
      });
    for (let turn = 0; turn < 15; turn += 1) {
      const taken = await Promise.all(stores.map((store) => takeTurn(store, turn)));
      assert.equal(taken[0] === taken[1], false, taken.join());
    }
  });

  it('[PG6] accept a message once under its key, whoever is asked', async (t) => {
    const url = await freshDatabase();
    const stores = [await open(t, url), await open(t, url)];
    const accept = (store: Store, runId: string) =>
      store.write('accept', async (tx) => {
        const before = await tx.inputs.findByIdempotencyKey('operator agent', 'job');
        if (before !== undefined) return before.inputId;
        const seq = await tx.lanes.nextSeq('k');
        await tx.lanes.addRun('k', 'main', tx.now);
        const named = { seq, idempotencyScope: 'operator agent', idempotencyKey: 'job' };
        await tx.inputs.insert(input(runId, 'k', named));
        await tx.runs.insert(run(runId, 'k', { seq }));
        return runId;
      });
    const accepted = await Promise.all(
      stores.flatMap((store) => Array.from({ length: 10 }, () => accept(store, `r${made++}`))),
    );
    assert.equal(new Set(accepted).size, 1);
    assert.deepEqual(await stores[0]?.read((tx) => tx.runs.countByState()), { queued: 1 });
  });

  it('run again when the connection breaks before the commit', async (t) => {
    const url = await freshDatabase();
    const store = await open(t, url);
    let attempts = 0;
    await store.write('add', async (tx) => {
      attempts += 1;
      await tx.sessions.insert(session('k'));
      if (attempts > 1) return;
      await server.query(
        url,
        "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
      );
      await tx.sessions.count();
    });
    assert.equal(attempts, 2);
    assert.equal(await store.read((tx) => tx.sessions.count()), 1);
  });

  it('that swallow the failure of a statement are not taken for done', async (t) => {
    const store = await open(t, await freshDatabase());
    await store.write('add', (tx) => tx.runs.insert(run('r', 'k')));
    await assert.rejects(
      store.write('again', async (tx) => {
        await tx.sessions.insert(session('k'));
        await tx.runs.insert(run('r', 'k')).catch(() => {});
      }),
      /duplicate key/,
    );
    assert.equal(await store.read((tx) => tx.sessions.count()), 0);
  });
});

describe('gateways of one database', () => {
  it('[PG7] are told of each other’s commits by ids, once, and not of their own', async (t) => {
    const url = await freshDatabase();
    const [a, b] = [await open(t, url), await open(t, url)];
    const atA = signalled(a, ({ type }) => type === 'job');
    const atB = signalled(b, ({ type }) => type === 'job');
    await a.write('signal', async (tx) => {
      tx.signal({ type: 'run', runId: 'r' });
      tx.signal({ type: 'job' });
    });
    const expected = [{ type: 'run', runId: 'r' }, { type: 'job' }];
    assert.deepEqual(await atB, expected);
    assert.deepEqual(await atA, expected);
  });

  it('[PG7] are told to look for themselves when there is too much to tell', async (t) => {
    const url = await freshDatabase();
    const [a, b] = [await open(t, url), await open(t, url)];
    const atB = signalled(b, ({ type }) => type === 'resync');
    await a.write('signal', async (tx) => {
      for (let at = 0; at < 500; at += 1) tx.signal({ type: 'run', runId: `run ${at}` });
    });
    assert.deepEqual(await atB, [{ type: 'resync' }]);
  });

  it('[PG10] whose session breaks gives up its runs, frees its lanes and joins again', async (t) => {
    const url = await freshDatabase();
    const store = await open(t, url, { bootId: 'me' });
    const { shared } = store;
    assert.ok(shared !== undefined && shared.holdsLease());
    await claim(store, 'me');
    const gaveUp = Promise.withResolvers<boolean>();
    const mayJoin = Promise.withResolvers<void>();
    shared.onLost(() => {
      gaveUp.resolve(shared.holdsLease());
      return mayJoin.promise;
    });
    const again = signalled(store, ({ type }) => type === 'resync');
    await endSession(url);
    assert.equal(await gaveUp.promise, false);
    assert.equal((await store.read((tx) => tx.lanes.get('k')))?.owner, 'me');
    mayJoin.resolve();
    await again;
    assert.ok(shared.holdsLease());
    assert.equal((await store.read((tx) => tx.lanes.get('k')))?.owner, null);
  });

  it('[PG10] whose session breaks is followed by the others at once', async (t) => {
    const url = await freshDatabase();
    const lost = await open(t, url, { bootId: 'lost' });
    lost.shared?.onLost(() => new Promise(() => {}));
    await claim(lost, 'lost');
    const other = await open(t, url);
    const told = signalled(other, ({ type }) => type === 'resync');
    await endSession(url, 'lost');
    await told;
    assert.equal((await other.read((tx) => tx.lanes.get('k')))?.owner, null);
  });

  it('leave the lanes of one that is alive alone', async (t) => {
    const url = await freshDatabase();
    const alive = await open(t, url, { bootId: 'alive' });
    await claim(alive, 'alive');
    const other = await open(t, url);
    assert.equal(await other.write('free', (tx) => tx.lanes.freeOrphans('other')), 0);
    assert.equal((await other.read((tx) => tx.lanes.get('k')))?.owner, 'alive');
  });

  it('find within a second work that nobody told them of', async (t) => {
    const url = await freshDatabase();
    const store = await open(t, url);
    const found = signalled(store, ({ type }) => type === 'lane');
    await store.write('add', (tx) => tx.lanes.addRun('k', 'main', 1));
    assert.deepEqual(await found, [{ type: 'lane', sessionKey: 'k' }]);
  });

  it('follow the clock of the database', async (t) => {
    const store = await open(t, await freshDatabase());
    const before = await store.write('now', async (tx) => tx.now);
    const between = store.shared?.clock.now() ?? 0;
    const later = await store.write('now', async (tx) => tx.now);
    assert.ok(before - 1000 < between && between < later + 1000, `${before} ${between} ${later}`);
  });
});

describe('jobs of several gateways', () => {
  it('[PG4] are done once, whichever gateway is free, also those with a delay', async (t) => {
    const url = await freshDatabase();
    const stores = [await open(t, url), await open(t, url)];
    const done: string[] = [];
    const all = Promise.withResolvers<void>();
    const count = 30;
    for (const store of stores) {
      const probe = async ({ name = '' }: Record<string, string>) => {
        await store.write('end', (tx) => tx.jobs.remove(name));
        done.push(name);
        if (done.length >= count) all.resolve();
      };
      const jobs = store.shared?.createJobRunner({ probe });
      jobs?.start();
      t.after(() => jobs?.stop());
    }
    const names = Array.from({ length: count }, (_, at) => `job ${at}`);
    await stores[0]?.write('add', async (tx) => {
      for (const [at, name] of names.entries()) {
        const payloadJson = JSON.stringify({ name });
        const runAt = tx.now + (at % 3) * 100;
        await tx.jobs.add({ jobKey: name, kind: 'probe', payloadJson, runAt });
      }
    });
    await all.promise;
    assert.deepEqual(done.toSorted(), names.toSorted());
    assert.equal(await stores[1]?.read((tx) => tx.jobs.nextRunAt()), undefined);
  });

  it('that fail are tried again later, and say what went wrong meanwhile', async (t) => {
    const store = await open(t, await freshDatabase());
    const jobs = store.shared?.createJobRunner({
      probe: () => Promise.reject(new Error('no luck')),
    });
    jobs?.start();
    t.after(() => jobs?.stop());
    await store.write('add', (tx) =>
      tx.jobs.add({ jobKey: 'j', kind: 'probe', payloadJson: '{}', runAt: tx.now }),
    );
    for (;;) {
      const [job] = await store.read((tx) => tx.jobs.due(Date.now() + 60_000, 9));
      if (job === undefined || job.attempts === 0) continue;
      assert.deepEqual([job.jobKey, job.lastError, job.payloadJson], ['j', 'no luck', '{}']);
      return;
    }
  });
});

describe('openPostgresStore', () => {
  it('[PG8] refuses a database that a newer program has written, and leaves it as it is', async (t) => {
    const url = await freshDatabase();
    await (await openPostgresStore({ url, logger: silentLogger, bootId: 'old' })).close();
    await server.query(url, "insert into schema_version values (99, 'later', 1)");
    await assert.rejects(open(t, url), {
      code: 'config',
      message: /postgres:\/\/127\.0\.0\.1:\d+\/shared.* has schema version 99/,
    });
  });

  it('[PG8] refuses a transaction pooler by name, and takes it beside a direct address', async (t) => {
    const url = await freshDatabase();
    const pooler = await startPooler(url);
    t.after(() => pooler.close());
    await assert.rejects(open(t, pooler.url), {
      code: 'config',
      message: /leads through a transaction pooler.*TRUNKLINE_DATABASE_DIRECT_URL/,
    });
    const store = await openPostgresStore({
      url: pooler.url,
      directUrl: url,
      logger: silentLogger,
      bootId: 'pooled',
    });
    await Promise.all([
      store.write('add', (tx) => tx.sessions.insert(session('k'))),
      ...Array.from({ length: 5 }, () => store.read((tx) => tx.sessions.count())),
    ]);
    assert.equal(await store.read((tx) => tx.sessions.count()), 1);
    await store.close();
  });

  it('[PG8] says where and why when there is no database, and never the password', async (t) => {
    const url = new URL(await freshDatabase());
    const wrongPassword = new URL(url);
    wrongPassword.password = 'hunter2';
    const noDatabase = new URL(url);
    noDatabase.pathname = '/nowhere';
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const noServer = new URL(url);
    noServer.port = String((silent.address() as AddressInfo).port);
    silent.close();
    const cases: [URL, RegExp][] = [
      [wrongPassword, /127\.0\.0\.1:\d+\/\S+ cannot be used: it refuses these credentials/],
      [noDatabase, /nowhere cannot be used: the database does not exist/],
      [noServer, /cannot be used: no connection \(ECONNREFUSED\)/],
    ];
    for (const [{ href }, reason] of cases) {
      await assert.rejects(open(t, href), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'unavailable');
        assert.match(error.message, reason);
        assert.doesNotMatch(error.message, /hunter2|wherever/);
        return true;
      });
    }
  });

  it('lets gateways that start together migrate one after another', async (t) => {
    const url = await freshDatabase();
    const stores = await Promise.all([open(t, url), open(t, url), open(t, url)]);
    const versions = await server.query(url, 'select version from schema_version order by 1');
    assert.deepEqual(
      versions,
      MIGRATIONS.map(({ version }) => ({ version })),
    );
    assert.equal(stores.length, 3);
  });
});

async function claim(store: Store, owner: string): Promise<void> {
  await store.write('claim', async (tx) => {
    await tx.lanes.addRun('k', 'main', 1);
    const lane = await tx.lanes.claimNext({ runClass: 'main', owner });
    assert.ok(lane);
  });
}

/** Ends the session that holds the lock of a gateway, of every gateway when none is named. */
async function endSession(url: string, id?: string): Promise<void> {
  await server.query(
    url,
    `select pg_terminate_backend(pid) from pg_locks join gateways
      on pg_locks.locktype = 'advisory' and (pg_locks.classid::bigint << 32) + pg_locks.objid::bigint = lock_key
      where $1::text is null or id = $1`,
    [id ?? null],
  );
}
