/** Servers that change under a running gateway, and a gateway that is killed in a call of one. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { callTools } from './crash/scenarios.ts';
import { makeKillWorld } from './helpers/kill-world.ts';
import { offeredTo } from './helpers/mcp-offered.ts';
import { badServer, stdioServer } from './helpers/mcp-servers.ts';
import { startWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';

test('[MS12, CR1] a running gateway takes servers over that are added, changed and removed', async (t) => {
  const world = await startWorld(t);
  const path = join(world.gateway.stateDir, 'trunkline.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as Json;
  const reload = async (servers: Json): Promise<Json> => {
    writeFileSync(path, JSON.stringify({ ...config, mcp: { servers } }));
    return world.client.request('config.reload', {});
  };
  const added = await reload({ one: badServer('') });
  assert.deepEqual(added['needsRestart'], []);
  await world.say(A, 'SAY: one');
  assert.deepEqual(offeredTo(world, A), ['one__go']);
  await reload({ one: badServer('', { toolFilter: { exclude: ['go'] } }), two: badServer('') });
  await world.say(A, 'SAY: two');
  assert.deepEqual(offeredTo(world, A), ['two__go']);
  await reload({});
  await world.say(A, 'SAY: none');
  assert.deepEqual(offeredTo(world, A), []);
});

test('[MS9, RC7] a call that the gateway was killed in is told as interrupted and not made again', async (t) => {
  const world = await makeKillWorld(t);
  const effects = join(world.stateDir, 'effects');
  const configPath = join(world.stateDir, 'trunkline.json');
  const config = JSON.parse(readFileSync(configPath, 'utf8')) as Json;
  const servers = { tools: stdioServer({ env: { EFFECTS: effects } }) };
  writeFileSync(configPath, JSON.stringify({ ...config, mcp: { servers } }));
  const first = await world.start();
  const script = callTools(['tools__hang', {}], ['tools__echo', { text: 'after it' }]);
  const runId = await first.send('agent:main:main', `${script}\nSAY: on`);
  const lines = (): string[] =>
    existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
  while (!lines().includes('hang begun')) await delay(10);
  await first.process.kill();
  const next = await world.start();
  assert.equal((await next.wait(runId))['reply'], 'on');
  const { transcripts } = await world.end();
  assert.deepEqual(transcripts['agent:main:main']?.slice(1), [
    'message assistant: →tools__hang →tools__echo',
    'message toolResult of tools__hang: interrupted, outcome unknown',
    'message toolResult of tools__echo: after it',
    'message assistant: on',
  ]);
  assert.equal(lines().filter((line) => line === 'tools__hang called').length, 0);
  assert.equal(lines().filter((line) => line === 'hang called').length, 1);
});
