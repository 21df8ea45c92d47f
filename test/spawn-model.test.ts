/** Which model and which thinking level a child gets: every combination of the places that may say so. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';

/** The places in their order, with what each says. */
const PLACES = [
  { place: 'param', model: 'fake/param', thinking: 'xhigh' },
  { place: 'agent', model: 'fake/agent', thinking: 'high' },
  { place: 'defaults', model: 'fake/defaults', thinking: 'medium' },
  { place: 'override', model: 'fake/override', thinking: 'low' },
  { place: 'caller', model: 'fake/caller', thinking: 'minimal' },
  { place: 'all', model: 'fake/all', thinking: 'high' },
] as const;
type Place = (typeof PLACES)[number]['place'];

/**
 * By hand: which place decides, for every combination of places that are set. The rows count down from all of
 * them (`111111`, the parameter first) to none (`000000`): p = parameter, a = `subagents` of the child's agent,
 * d = `agents.defaults.subagents`, o = the caller's session, c = the caller's agent, g = `agents.defaults`,
 * f = the first model of the first provider, and no thinking.
 */
const DECIDES =
  'pppppppppppppppppppppppppppppppp' + 'aaaaaaaaaaaaaaaa' + 'dddddddd' + 'oooo' + 'cc' + 'g' + 'f';
const BY_LETTER: Record<string, { model: string; thinking: string }> = {
  p: PLACES[0],
  a: PLACES[1],
  d: PLACES[2],
  o: PLACES[3],
  c: PLACES[4],
  g: PLACES[5],
  f: { model: 'fake/first', thinking: 'off' },
};

/** What a place says, as settings; nothing when it is silent. */
type Said = Partial<Record<'model' | 'thinking', string>>;

function configure(world: TestWorld, said: (place: Place) => Said): Promise<unknown> {
  const path = join(world.gateway.stateDir, 'trunkline.json');
  const written = JSON.parse(readFileSync(path, 'utf8')) as Json;
  // What others than these places say has no part in it.
  const decoy = { model: 'fake/decoy', thinking: 'medium' };
  const agents = {
    defaults: {
      ...said('all'),
      subagents: { ...said('defaults'), maxChildrenPerAgent: 20, announce: { mode: 'silent' } },
    },
    list: [
      {
        id: 'a',
        default: true,
        ...said('caller'),
        subagents: { allowAgents: ['b'], ...decoy },
      },
      { id: 'b', ...decoy, subagents: said('agent') },
    ],
  };
  writeFileSync(path, JSON.stringify({ ...written, agents }));
  return world.client.request('config.reload');
}

async function startModels(t: Parameters<typeof startWorld>[0]): Promise<TestWorld> {
  const ids = ['first', 'decoy', ...PLACES.map(({ place }) => place)];
  const fake = { models: ids.map((id) => ({ id })) };
  return startWorld(t, { config: { models: { providers: { fake } } } });
}

/** Spawns, and returns what was said to be applied, what the row has, and what the model was asked with. */
async function outcome(world: TestWorld, { task, said }: { task: string; said: Said }) {
  const answer = await world.tool('sessions_spawn', { task, agentId: 'b', ...said });
  assert.equal(answer['status'], 'accepted', JSON.stringify(answer));
  const ended = await world.client.request('agent.wait', {
    runId: answer['runId'],
    timeoutMs: 30_000,
  });
  assert.equal(ended['status'], 'ok');
  const row = await world.store.read((tx) => tx.sessions.get(String(answer['childSessionKey'])));
  const request = world.model.requests.find(({ raw }) => raw.includes(task));
  return {
    applied: [answer['modelApplied'], answer['thinkingApplied']],
    row: [row?.model, row?.thinkingLevel],
    asked: [`fake/${String(request?.body['model'])}`, request?.body['reasoning_effort'] ?? 'off'],
  };
}

const letterOf = (bits: number): string => DECIDES[63 - bits] ?? '';

/** What a place says: its model where it is set among `bits`, its level where it is not, so that neither moves the other. */
function sayingOf(bits: number): (wanted: Place) => Said {
  return (wanted) => {
    const index = PLACES.findIndex(({ place }) => place === wanted);
    const { model, thinking } = PLACES[index]!;
    return (bits >> (5 - index)) & 1 ? { model } : { thinking };
  };
}

test('[SP7, BR-044, BR-168] a child has model and thinking of the first of parameter, agent, defaults, session, caller’s agent, all agents: every combination', async (t) => {
  assert.equal(DECIDES.length, 64);
  const world = await startModels(t);
  for (let bits = 0; bits < 64; bits += 1) {
    const said = sayingOf(bits);
    await configure(world, said);
    const { model = null, thinking: thinkingLevel = null } = said('override');
    await world.client.request('sessions.patch', { key: A, model, thinkingLevel });
    const found = await outcome(world, { task: `SAY: row-${bits}-end`, said: said('param') });
    const both = [BY_LETTER[letterOf(bits)]?.model, BY_LETTER[letterOf(63 - bits)]?.thinking];
    const name = bits.toString(2).padStart(6, '0');
    assert.deepEqual(found, { applied: both, row: both, asked: both }, name);
  }
  await world.quiet();
});
