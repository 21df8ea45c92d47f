import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createRunEvents } from '../../service/run-events.ts';
import type { RunEvents } from '../../service/run-events.ts';
import { silentLogger } from '../../util/logger.ts';
import { must } from '../../util/assert.ts';
import { startGateway, TOKEN } from '../test-gateway.suite.ts';
import type { TestGateway } from '../test-gateway.suite.ts';

/** Run events that know how many listen. */
function countedEvents(): { events: RunEvents; listeners: () => number } {
  const events = createRunEvents((error) => {
    throw error;
  });
  let listeners = 0;
  const subscribe: RunEvents['subscribe'] = (listener) => {
    const stop = events.subscribe(listener);
    listeners += 1;
    return () => {
      listeners -= 1;
      stop();
    };
  };
  return { events: { ...events, subscribe }, listeners: () => listeners };
}

const askStreamed = (door: TestGateway, signal?: AbortSignal): Promise<Response> =>
  ask(door, { stream: true, signal });

function ask(
  { url }: TestGateway,
  { stream, signal }: { stream: boolean; signal?: AbortSignal | undefined },
): Promise<Response> {
  const messages = [{ role: 'user', content: 'hi' }];
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ model: 'openclaw', stream, messages }),
    ...(signal === undefined ? {} : { signal }),
  });
}

const textIn = (body: string): string =>
  [...body.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('');

test('[OA5] a fault in the middle of a stream says nothing of its cause, and all of it to the log', async () => {
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: unknown) => void logged.push(fields) };
  const door = await startGateway({ isCompletionsOpen: true, logger });
  door.played.services.readUsage = () => Promise.reject(new Error('cannot read /secret/place'));
  const response = await askStreamed(door);
  door.played.end('run-1');
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  assert.equal(
    lines.at(-1),
    'data: {"error":{"type":"internal","message":"internal error; see the gateway log"}}',
  );
  assert.doesNotMatch(lines.join('\n'), /secret|event:/);
  const [first] = logged as { err: Error }[];
  assert.match(must(first, 'nothing was logged').err.message, /secret/);
  await door.gateway.close();
});

test('[OA5] what a run failed of is told without the credential that it quotes', async () => {
  const door = await startGateway({ isCompletionsOpen: true });
  const secret = `sk-${'a1b2c3d4'.repeat(5)}`;
  const failure = { status: 'error', outcome: 'error', error: `no such key ${secret}` } as const;
  const streamed = await askStreamed(door);
  await door.played.whenWaiting(1);
  door.played.end('run-1', failure);
  const whole = ask(door, { stream: false });
  await door.played.whenWaiting(2);
  door.played.end('run-2', failure);
  for (const text of [await streamed.text(), await (await whole).text()]) {
    assert.match(text, /"type":"run_failed".*no such key \[masked\]/);
    assert.doesNotMatch(text, /a1b2c3d4/);
  }
  await door.gateway.close();
});

test('[OA4] nothing listens and waits any more for a client that has gone', async () => {
  const { events, listeners } = countedEvents();
  const door = await startGateway({ isCompletionsOpen: true, events });
  const own = listeners();
  const client = new AbortController();
  const response = await askStreamed(door, client.signal);
  await door.played.whenWaiting(1);
  assert.equal(listeners(), own + 1);
  const wait = must(door.played.waiting[0], 'nobody waits');
  const gone = once(wait, 'abort');
  client.abort();
  await Promise.all([gone, assert.rejects(response.text())]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(listeners(), own);
  await door.gateway.close();
});

test('[OA4] a stream whose run says nothing tells now and then that it is there, in a comment', async () => {
  const { events } = countedEvents();
  const door = await startGateway({
    isCompletionsOpen: true,
    events,
    limits: { tickIntervalMs: 5 },
  });
  const response = await askStreamed(door);
  let body = '';
  let isOver = false;
  await door.played.whenWaiting(1);
  for await (const chunk of must(response.body, 'no stream')) {
    body += new TextDecoder().decode(chunk);
    if (!isOver && body.split(': still at work\n\n').length > 3) {
      isOver = true;
      door.played.services.readUsage = async () => ({ groups: [], count: 0 }) as never;
      door.played.end('run-1', { reply: 'at last' });
    }
  }
  assert.equal(textIn(body), 'at last');
  assert.match(body, /data: \[DONE\]\n\n$/);
  const isPiece = (line: string): boolean => /^(data: .*|: still at work|)$/.test(line);
  assert.ok(body.split('\n').every(isPiece), body);
  await door.gateway.close();
});

test('[OA4] a run that says much to a client that reads nothing is not kept piece by piece', async () => {
  const { events } = countedEvents();
  const door = await startGateway({ isCompletionsOpen: true, events });
  const response = await askStreamed(door);
  await door.played.whenWaiting(1);
  let text = '';
  for (let count = 0; count < 1000; count += 1) {
    text += 'word ';
    const at = { runId: 'run-1', sessionKey: 'agent:main:main' };
    events.emit({ ...at, type: 'delta', delta: 'word ', text, replace: false });
  }
  door.played.services.readUsage = async () => ({ groups: [], count: 0 }) as never;
  door.played.end('run-1', { reply: text });
  const body = await response.text();
  const pieces = body.match(/^data: \{/gm) ?? [];
  assert.ok(pieces.length < 100, String(pieces.length));
  assert.equal(textIn(body), text);
  assert.match(body, /data: \[DONE\]\n\n$/);
  await door.gateway.close();
});
