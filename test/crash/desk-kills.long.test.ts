/** A gateway with a delivery that is stuck, killed while an operator decides about it. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { GatewayClient } from '../../src/client/gateway-client.ts';
import { makeChatKillWorld, tell } from '../helpers/chat-kill-world.ts';
import { databaseOf } from '../helpers/open-gateway.ts';
import { CHAT_STEPS } from './crash-table.ts';

const DECISIONS = {
  'retry-delivery': { method: 'deliveries.retry', state: 'sent', shown: ['stuck'] },
  'drop-delivery': { method: 'deliveries.drop', state: 'dropped', shown: [] },
} as const;

describe('a gateway with a stuck delivery killed around a step', { concurrency: 2 }, () => {
  for (const { unit, ...left } of CHAT_STEPS) {
    if (unit !== 'retry-delivery' && unit !== 'drop-delivery') continue;
    for (const when of ['before', 'after'] as const) {
      it(`[RC2] just ${when} ${unit} leaves ${left[when]}; it ends as if nobody had`, async (t) => {
        const { method, state, shown } = DECISIONS[unit];
        const { chat, stateDir, start, settled } = await makeChatKillWorld(t);
        chat.fail('stuck', 'refuse for good');
        // One process has it stuck and is killed as it is decided.
        const first = await start(`${unit}:${when}:1`);
        await tell(first.client, 'keyed', 'stuck');
        await decide(first.client, method).catch(() => {});
        await first.exited;
        const second = await start();
        await decide(second.client, method);
        assert.deepEqual(await settled(), [`send:operator:stuck:0 ${state}`]);
        assert.deepEqual(chat.shown('c1'), shown);
        assert.equal(countAudited(databaseOf(stateDir)), 1);
      });
    }
  }
});

/** Asks for it as long as the delivery is failed. */
async function decide(client: GatewayClient, method: string): Promise<void> {
  const listed = await client.request<{ deliveries: { deliveryId: string }[] }>('deliveries.list');
  for (const { deliveryId } of listed.deliveries) await client.request(method, { deliveryId });
}

function countAudited(database: string): number {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    return db.prepare('select id from audit').all().length;
  } finally {
    db.close();
  }
}
