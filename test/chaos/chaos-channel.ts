/**
 * Two chat services of a campaign, as a process of their own with a ledger: `keyed` shows a text once
 * per idempotency key, `plain` shows whatever it is handed. Both fail now and then: before a text is
 * shown, while it answers, and after. `node test/chaos/chaos-channel.ts --ledger FILE --seed S`.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { dieWithParent, tellReady } from './child-program.ts';
import { type ChannelEntry, writeLedger } from './ledger.ts';
import { randomOf } from './random.ts';

const { values } = parseArgs({ options: { ledger: { type: 'string' }, seed: { type: 'string' } } });
const ledger = String(values.ledger);
const seed = Number(values.seed);
const handed = new Map<string, number>();
const shown = new Set<string>();

dieWithParent();
const server = createServer((request, response) => {
  void readText(request)
    .then((raw) => take(JSON.parse(raw) as Handed, response))
    .catch(() => response.destroy());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
tellReady({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

type Handed = Pick<ChannelEntry, 'channel' | 'idempotencyKey' | 'to' | 'text'>;

async function take(part: Handed, response: ServerResponse): Promise<void> {
  const nth = (handed.get(part.text) ?? 0) + 1;
  handed.set(part.text, nth);
  const random = randomOf(seed, part.text);
  // Only the first hand-over of a text fails, so that a retry is over soon.
  const failed =
    nth === 1 && random.chance(0.2)
      ? random.pick(['before', 'during', 'after'] as const)
      : undefined;
  await delay(random.chance(0.3) ? random.between(50, 250) : 0);
  const isShown = failed !== 'before' && !(part.channel === 'keyed' && shown.has(keyOf(part)));
  if (isShown) shown.add(keyOf(part));
  writeLedger(ledger, {
    ...part,
    isShown,
    ...(failed === undefined ? {} : { failed }),
    ...(response.socket?.destroyed === true ? { isCut: true } : {}),
  });
  // What was shown is shown, whether or not the sender lives to hear of it.
  if (failed === 'during') return void response.destroy();
  response.writeHead(failed === undefined ? 200 : failed === 'before' ? 503 : 500).end();
}

function keyOf({ channel, idempotencyKey }: Handed): string {
  return `${channel} ${idempotencyKey}`;
}
