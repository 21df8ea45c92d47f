/** `sessions_search` through the doors of a whole gateway: offered where it is named, found once it is said. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld } from './helpers/test-world.ts';

const config = { tools: { allow: ['*', 'sessions_search'] } };
const B = 'agent:b:main';
interface Page {
  hits: { sessionKey: string; seq: number; role: string; snippet: string }[];
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

test('[SR11] an agent that is offered the tool finds what was said elsewhere', async (t) => {
  const world = await startWorld(t, { config });
  await world.say(B, 'SAY: the needle is here');
  await world.say('main', `${call('sessions_search', { query: '"needle is"' })}\nSAY: found`);
  const [page] = (await world.toolAnswers('main')) as unknown as Page[];
  assert.deepEqual(
    page?.hits.map(({ sessionKey, role, seq }) => [sessionKey, role, seq]),
    [
      // the question itself holds the words too
      ['main', 'user', 1],
      [B, 'assistant', 2],
      [B, 'user', 1],
    ],
  );
  assert.deepEqual([page?.limitApplied, page?.hasMore], [20, false]);
});

test('[SR11] without a list or profile that names it the tool is offered at no door', async (t) => {
  const world = await startWorld(t);
  await assert.rejects(world.tool('sessions_search', { query: 'x' }), {
    message: /tool policy does not offer sessions_search/,
  });
  await world.say('main', 'SAY: hi');
  const [request] = world.model.requests;
  assert.ok(!JSON.stringify(request?.body).includes('sessions_search'));
});

test('[SR11, SR5] the operator pages through everything by sessions.search', async (t) => {
  const world = await startWorld(t);
  for (const key of ['main', B, 'agent:c:main']) await world.say(key, 'SAY: needle');
  const search = (params: object) =>
    world.client.request<Page>('sessions.search', { query: 'needle', ...params });
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await search({ limit: 4, ...(cursor !== undefined && { cursor }) });
    found.push(...page.hits.map(({ sessionKey, seq }) => `${sessionKey} ${seq}`));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(found, [
    'agent:c:main 2',
    'agent:c:main 1',
    `${B} 2`,
    `${B} 1`,
    'agent:a:main 2',
    'agent:a:main 1',
  ]);
  assert.equal((await search({ limit: 1000 })).limitApplied, 100);
  await assert.rejects(search({ sessionKey: 'agent:a:discord:group:none' }), /not found/);
  await assert.rejects(search({ query: '...' }), /no letters or digits/);
});

test('[SR11] trunkline sessions search prints where it was said', async (t) => {
  const world = await startWorld(t, { config });
  await world.say('main', 'SAY: one needle');
  const { url, token } = world.gateway;
  const cli = (...args: string[]) =>
    runCli(['sessions', 'search', ...args, '--url', url, '--token', token ?? '']);
  const found = await cli('one', 'needle', '--limit', '1');
  assert.equal(found.exitCode, 0, found.notes);
  assert.match(found.out, /^agent:a:main {2}assistant 2 of [0-9a-f-]{36}\n {2}one needle$/);
  assert.match(found.notes, /there are more; --cursor \S+/);
  const asB = await cli('needle', '--as', B, '--session', 'agent:a:main', '--json');
  assert.equal((JSON.parse(asB.out) as Page).hits.length, 2);
  const none = await cli('nothing');
  assert.deepEqual([none.exitCode, none.out, none.notes], [0, '', 'nothing found']);
  const wrong = await cli('needle', '--as', B, '--session', 'agent:a:discord:group:none');
  assert.equal(wrong.exitCode, 1);
  assert.match(wrong.notes, /not found/);
});
