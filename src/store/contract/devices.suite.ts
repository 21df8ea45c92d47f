import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { device, pairing, type OpenHarness, withStore } from './samples.suite.ts';

export function devicesContract(open: OpenHarness): void {
  describe('devices', () => {
    it('[DV9] are paged approved last first, counted within a bound, and the oldest revoked one is found', () =>
      withStore(open, async ({ store }) => {
        const revoked = device('d3', { approvedAt: 3, revokedAt: 40 });
        await store.write('add', async (tx) => {
          await tx.devices.insert(device('d1', { approvedAt: 1 }));
          await tx.devices.insert(device('d2', { approvedAt: 3, revokedAt: 50 }));
          await tx.devices.insert(revoked);
        });
        await store.read(async (tx) => {
          const all = await tx.devices.page({ cursor: undefined, limit: 9 });
          assert.deepEqual(
            all.map(({ id }) => id),
            ['d3', 'd2', 'd1'],
          );
          const rest = await tx.devices.page({ cursor: { approvedAt: 3, id: 'd2' }, limit: 9 });
          assert.deepEqual(
            rest.map(({ id }) => id),
            ['d1'],
          );
          assert.equal(await tx.devices.count(2), 2);
          assert.equal(await tx.devices.count(9), 3);
          assert.deepEqual(await tx.devices.oldestRevoked(), revoked);
          assert.deepEqual(await tx.devices.get('d3'), revoked);
        });
        await store.write('forget', async (tx) => {
          await tx.devices.remove('d3');
          await tx.devices.update('d2', { revokedAt: null, tokenHash: 'h' });
        });
        await store.read(async (tx) => {
          assert.equal(await tx.devices.oldestRevoked(), undefined);
          assert.equal((await tx.devices.get('d2'))?.tokenHash, 'h');
        });
        await assert.rejects(
          store.write('gone', (tx) => tx.devices.update('d3', { name: 'x' })),
          { code: 'not_found' },
        );
      }));
  });

  describe('pairings', () => {
    it('[DV9] are open until they expire, and one a device', () =>
      withStore(open, async ({ store }) => {
        const second = pairing('p2', { expiresAt: 20 });
        await store.write('add', async (tx) => {
          await tx.pairings.insert(second);
          await tx.pairings.insert(pairing('p1', { expiresAt: 10 }));
          await tx.pairings.insert(pairing('p3', { expiresAt: 30 }));
        });
        const openAt = (now: number, limit = 9) =>
          store.read(async (tx) => (await tx.pairings.open(now, limit)).map(({ id }) => id));
        assert.deepEqual(await openAt(0), ['p1', 'p2', 'p3']);
        assert.deepEqual(await openAt(0, 1), ['p1']);
        assert.deepEqual(await openAt(10), ['p2', 'p3']);
        await assert.rejects(
          store.write('twice', (tx) =>
            tx.pairings.insert(pairing('p4', { deviceId: second.deviceId })),
          ),
        );
        await store.write('later', async (tx) => {
          await tx.pairings.removeExpired(10);
          await tx.pairings.remove('p3');
          await tx.pairings.update('p2', { expiresAt: 99 });
        });
        await store.read(async (tx) => {
          assert.equal(await tx.pairings.get('p1'), undefined);
          const kept = { ...second, expiresAt: 99 };
          assert.deepEqual(await tx.pairings.ofDevice(second.deviceId), kept);
        });
        assert.deepEqual(await openAt(0), ['p2']);
      }));
  });
}
