/** The rules of a spawn over a whole gateway: which answers first, with what, and that a refusal leaves nothing. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { storedRows } from './helpers/stored-rows.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
/** part of every prompt of a child */
const OF_CHILDREN = 'You are a sub-agent';
const inDefaults = (subagents: Json): Json => ({ agents: { defaults: { subagents } } });

/**
 * A hash of every row of every table, and the files: what a refused spawn must not change. What goes on
 * beside it is left out: transcripts are mirrored a while after a run, and one that is long under way is counted.
 */
function traces({ gateway }: TestWorld): string[] {
  const rows = Object.entries(storedRows(gateway.stateDir)).map(([name, all]) => {
    for (const row of all) delete row['attempts'];
    const hash = createHash('sha256').update(JSON.stringify(all)).digest('hex');
    return `${name} ${all.length} ${hash}`;
  });
  const files = readdirSync(gateway.stateDir, { recursive: true }).map(String);
  return [...rows, ...files.filter((name) => !/-(wal|shm)$|^agents/.test(name))].toSorted();
}

/** One spawn of the product: what of it breaks a rule. */
interface Attempt {
  agent: 'a' | 'r';
  /** `full`: a child is active; `spent`: as many were spawned as may; `both` */
  state: 'clean' | 'full' | 'spent' | 'both';
  shape: boolean;
  agentId: 'absent' | 'own' | 'ghost';
  sandbox: boolean;
  mode: boolean;
  thread: boolean;
  model: boolean;
}

/** B7.3 in its order, as far as a door can break it: when a rule answers, its status and its words. */
const IN_ORDER: [when: (attempt: Attempt) => boolean, status: string, text: string | RegExp][] = [
  [
    ({ shape }) => shape,
    'error',
    /^unknown parameter "modle" of sessions_spawn, nearest: "model"; known: task, label, agentId, model/,
  ],
  [
    ({ state }) => state === 'full' || state === 'both',
    'forbidden',
    '1 sub-agents of this session are active, agents.defaults.subagents.maxChildrenPerAgent is 1; wait for one to end',
  ],
  [
    ({ state }) => state === 'spent',
    'forbidden',
    'this session has spawned 2 sub-agents since its transcript began, agents.defaults.subagents.maxChildrenPerSession is 2; do the work here',
  ],
  [
    ({ agent, agentId }) => agent === 'r' && agentId === 'absent',
    'forbidden',
    'agentId is required here (subagents.requireAgentId); agents_list shows which',
  ],
  [
    ({ agentId }) => agentId === 'ghost',
    'forbidden',
    /^agent ghost may not be spawned from here \(agents\.list\[\]\.subagents\.allowAgents of [ar]\); allowed: [ar], b$/,
  ],
  [
    ({ sandbox }) => sandbox,
    'forbidden',
    'sessions_spawn does not support sandbox: "require" yet; use "inherit"',
  ],
  [
    ({ mode, thread }) => mode && !thread,
    'error',
    'mode: "session" of sessions_spawn needs thread: true, which is not supported yet; use "run"',
  ],
  [
    ({ thread }) => thread,
    'error',
    'sessions_spawn does not support thread: true yet; leave it out and use mode "run"',
  ],
  [
    ({ model }) => model,
    'error',
    'unknown model provider "nope"; the providers are fake (models.providers)',
  ],
];

function product(): Attempt[] {
  let all: Partial<Attempt>[] = [{}];
  const values: { [K in keyof Attempt]: Attempt[K][] } = {
    agent: ['a', 'r'],
    state: ['clean', 'full', 'spent', 'both'],
    shape: [false, true],
    agentId: ['absent', 'own', 'ghost'],
    sandbox: [false, true],
    mode: [false, true],
    thread: [false, true],
    model: [false, true],
  };
  for (const [name, options] of Object.entries(values))
    all = all.flatMap((one) => options.map((value) => ({ ...one, [name]: value })));
  return all as Attempt[];
}

const sessionOf = ({ agent, state }: Pick<Attempt, 'agent' | 'state'>): string =>
  `agent:${agent}:webchat:direct:${state}`;

function argsOf({ agent, shape, agentId, sandbox, mode, thread, model }: Attempt): Json {
  return {
    task: 'SAY: x',
    ...(shape && { modle: 'x' }),
    ...(agentId !== 'absent' && { agentId: agentId === 'own' ? agent : 'ghost' }),
    ...(sandbox && { sandbox: 'require' }),
    ...(mode && { mode: 'session' }),
    ...(thread && { thread: true }),
    ...(model && { model: 'nope/x' }),
  };
}

/** Sessions of each agent in each state; the children that are active wait for the model. */
async function furnish(world: TestWorld): Promise<{ release(): void }> {
  const states = ['clean', 'full', 'spent', 'both'] as const;
  const spawn = async (agent: 'a' | 'r', state: Attempt['state'], task: string) => {
    const args = { task, agentId: agent };
    const answer = await world.tool('sessions_spawn', args, sessionOf({ agent, state }));
    assert.equal(answer['status'], 'accepted', JSON.stringify(answer));
  };
  for (const agent of ['a', 'r'] as const) {
    for (const state of states) await world.say(sessionOf({ agent, state }), 'SAY: hi');
    await spawn(agent, 'spent', 'SAY: one');
    await spawn(agent, 'both', 'SAY: one');
    await world.quiet();
    await spawn(agent, 'spent', 'SAY: two');
    await world.quiet();
  }
  const held = world.model.hold('SAY: held');
  for (const agent of ['a', 'r'] as const)
    for (const state of ['full', 'both'] as const) await spawn(agent, state, 'SAY: held');
  await held.arrived(4);
  return held;
}

test('[SP3, SP10] of every combination of broken rules the earliest answers, in its words, and leaves nothing', async (t) => {
  const world = await startWorld(t, {
    config: {
      agents: {
        defaults: { subagents: { maxChildrenPerAgent: 1, maxChildrenPerSession: 2 } },
        list: [
          { id: 'a', default: true, subagents: { allowAgents: ['b'] } },
          { id: 'r', subagents: { allowAgents: ['b'], requireAgentId: true } },
          { id: 'b' },
        ],
      },
    },
  });
  const held = await furnish(world);
  const before = traces(world);
  let refused = 0;
  for (const attempt of product()) {
    const rule = IN_ORDER.find(([isBroken]) => isBroken(attempt));
    if (rule === undefined) continue;
    const [, status, text] = rule;
    const answer = await world.tool('sessions_spawn', argsOf(attempt), sessionOf(attempt));
    const { error, ...rest } = answer;
    assert.deepEqual(rest, { status }, JSON.stringify(attempt));
    if (typeof text === 'string') assert.equal(error, text, JSON.stringify(attempt));
    else assert.match(String(error), text, JSON.stringify(attempt));
    refused += 1;
  }
  assert.equal(refused, 2 * 4 * 2 * 3 * 2 * 2 * 2 * 2 - 3, 'all but the three that may start');
  assert.deepEqual(traces(world), before);
  held.release();
  await world.quiet();
});

test('[SP10, AN19] a chain that is too long is refused before the limit of children is looked at', async (t) => {
  const world = await startWorld(t, {
    config: {
      ...inDefaults({ maxSpawnDepth: 3, maxChildrenPerAgent: 1 }),
      session: { agentToAgent: { maxHops: 1 } },
    },
  });
  const twice = `${call('sessions_spawn', { task: 'SAY: x', agentId: 'ghost' })}\nSAY: told`;
  const spawned = await world.tool('sessions_spawn', { task: twice });
  await world.quiet();
  const [answer] = await world.toolAnswers(String(spawned['childSessionKey']));
  assert.equal(answer?.['status'], 'error');
  assert.match(String(answer?.['error']), /session\.agentToAgent\.maxHops/);
});

test('[SP12, BR-141] sub-agents nest down to the depth that is set, 1 to 5, and no further', async (t) => {
  for (const maxSpawnDepth of [1, 2, 3, 4, 5]) {
    const world = await startWorld(t, {
      config: inDefaults({ maxSpawnDepth, announce: { mode: 'silent' } }),
      careless: true,
      rewrite: (text) =>
        text.includes('nest')
          ? `${call('sessions_spawn', { task: 'nest' })}\nSAY: down`
          : undefined,
    });
    const first = await world.tool('sessions_spawn', { task: 'nest' });
    await world.quiet();
    const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
    const children = sessions.filter(({ key }) => String(key).includes(':subagent:'));
    assert.equal(children.length, maxSpawnDepth);
    for (const { key } of children) assert.match(String(key), /^agent:a:subagent:[0-9a-f-]{36}$/);
    const depths = await Promise.all(
      children.map(async ({ key }) => {
        const row = await world.store.read((tx) => tx.sessions.get(String(key)));
        return row?.spawnDepth ?? 0;
      }),
    );
    assert.deepEqual(
      depths.toSorted((a, b) => a - b),
      Array.from({ length: maxSpawnDepth }, (_, at) => at + 1),
    );
    const last = String(children.at(depths.indexOf(maxSpawnDepth))?.['key']);
    assert.equal(maxSpawnDepth > 1 || last === first['childSessionKey'], true);
    const [refusal] = await world.toolAnswers(last);
    assert.equal(refusal?.['status'], 'forbidden');
    assert.match(String(refusal?.['error']), /\(agents\.defaults\.subagents\.maxSpawnDepth\)/);
  }
});

test('[SP11, BR-139] a session spawns as many children as `maxChildrenPerSession` says, ended ones included, until a reset', async (t) => {
  const subagents = { maxChildrenPerSession: 15, maxChildrenPerAgent: 20 };
  const world = await startWorld(t, { config: inDefaults(subagents) });
  const spawn = (args: Json = {}) => world.tool('sessions_spawn', { task: 'SAY: x', ...args });
  const keyed = { idempotencyKey: 'k' };
  const [first] = [await spawn(keyed), await spawn({ model: 'nope/x' })];
  for (let count = 1; count < 15; count += 1) assert.equal((await spawn())['status'], 'accepted');
  await world.quiet();
  const refused = await spawn();
  assert.deepEqual(refused, {
    status: 'forbidden',
    error:
      'this session has spawned 15 sub-agents since its transcript began, agents.defaults.subagents.maxChildrenPerSession is 15; do the work here',
  });
  assert.deepEqual(await spawn(keyed), first, 'a key has its first answer');
  await world.client.request('sessions.delete', {
    key: first?.['childSessionKey'],
    deleteTranscript: true,
  });
  await world.quiet();
  assert.equal((await spawn())['status'], 'forbidden', 'a child that is purged counts on');
  assert.equal(
    (await world.tool('sessions_spawn', { task: 'SAY: x' }, 'agent:b:main'))['status'],
    'accepted',
    'another session has its own',
  );
  await world.client.request('sessions.reset', { key: A });
  assert.equal((await spawn())['status'], 'accepted', 'a new transcript begins anew');
  await world.quiet();
});

test('[SP11] without the setting there is no such limit', async (t) => {
  const world = await startWorld(t, { config: inDefaults({ maxChildrenPerAgent: 20 }) });
  for (let count = 0; count < 30; count += 1) {
    const spawned = await world.tool('sessions_spawn', { task: 'SAY: x' });
    assert.equal(spawned['status'], 'accepted');
    if (count % 10 === 9) await world.quiet();
  }
});

for (const [setting, limits] of [
  ['maxChildrenPerAgent', { maxChildrenPerAgent: 3 }],
  ['maxChildrenPerSession', { maxChildrenPerSession: 3 }],
] as const) {
  test(`[SP5, SP11, BR-134] of two spawns at once at ${setting} exactly one is accepted`, async (t) => {
    const world = await startWorld(t, { config: inDefaults(limits) });
    const held = world.model.hold(OF_CHILDREN);
    for (let round = 0; round < 8; round += 1) {
      const key = `agent:a:webchat:direct:${round}`;
      await world.say(key, 'SAY: hi');
      const spawn = () => world.tool('sessions_spawn', { task: 'SAY: x' }, key);
      await spawn();
      await spawn();
      const answers = await Promise.all([spawn(), spawn()]);
      const statuses = answers.map(({ status }) => String(status)).toSorted();
      assert.deepEqual(statuses, ['accepted', 'forbidden']);
      assert.match(JSON.stringify(answers), new RegExp(`${setting} is 3`));
    }
    held.release();
    await world.quiet();
  });
}

const outcomeOf = async (world: TestWorld, { runId }: Json): Promise<unknown> =>
  (await world.client.request('agent.wait', { runId, timeoutMs: 30_000 }))['outcome'];

test('[SP13, BR-047] children beyond `maxConcurrent` queue and none fails, and the parent answers meanwhile', async (t) => {
  const subagents = { maxConcurrent: 1, announce: { mode: 'template' } };
  const world = await startWorld(t, { config: inDefaults(subagents) });
  const held = world.model.hold(OF_CHILDREN);
  const children = [];
  for (const word of ['one', 'two', 'three'])
    children.push(await world.tool('sessions_spawn', { task: `SAY: ${word}` }));
  await held.arrived();
  const states = await Promise.all(
    children.map(({ runId }) => world.client.request('runs.get', { runId })),
  );
  assert.deepEqual(
    states.map(({ messageState }) => messageState),
    ['running', 'queued', 'queued'],
  );
  assert.equal((await world.say(A, 'SAY: hello'))['reply'], 'hello');
  held.release();
  for (const child of children) assert.equal(await outcomeOf(world, child), 'ok');
});

test('[SP13, BR-045] a time limit runs from the start of the run, not while it queues, and frees the slot', async (t) => {
  const subagents = { maxConcurrent: 1, announce: { mode: 'template' } };
  const world = await startWorld(t, { config: inDefaults(subagents) });
  world.model.failNext({ kind: 'hang' });
  const late = await world.tool('sessions_spawn', { task: 'SAY: never', runTimeoutSeconds: 3 });
  await world.model.requestCount(1);
  // these wait for longer than their own limit
  const args = { task: 'SAY: done', runTimeoutSeconds: 2.5 };
  const others = [
    await world.tool('sessions_spawn', args),
    await world.tool('sessions_spawn', args),
  ];
  assert.equal(await outcomeOf(world, late), 'timeout');
  for (const one of others) assert.equal(await outcomeOf(world, one), 'ok');
  await world.quiet();
  assert.equal(await world.store.read((tx) => tx.sessions.countActiveChildren(A)), 0);
});

test('[SP14, BR-212] a label is kept as it was given, found and shown; it need not be the only one', async (t) => {
  const world = await startWorld(t);
  const spawn = (label: unknown) => world.tool('sessions_spawn', { task: 'SAY: x', label }, A);
  const [one, two] = [await spawn(' Blue '), await spawn('red')];
  await world.quiet();
  const { sessions } = await world.tool('sessions_list', { label: 'Blue' });
  const [row] = sessions as Json[];
  assert.deepEqual(
    [row?.['key'], row?.['label'], row?.['displayName']],
    [one['childSessionKey'], 'Blue', 'Blue'],
  );
  const history = await world.tool('sessions_send', { label: 'red', message: 'SAY: hi' });
  assert.equal(history['sessionKey'], two['childSessionKey']);
  assert.equal((await spawn('red'))['status'], 'accepted');
  await world.quiet();
  const both = await world.tool('sessions_send', { label: 'red', message: 'SAY: hi' });
  assert.match(String(both['error']), /several|more than one|2/);
  for (const label of ['', '  ', 'x'.repeat(257), 7]) {
    const refused = await spawn(label);
    assert.equal(refused['status'], 'error');
    assert.match(String(refused['error']), /^label/);
  }
});

const AGENTS = {
  a: { default: true },
  r: { subagents: { requireAgentId: true, allowAgents: ['*'] } },
  own: { subagents: { allowAgents: [' CODER ', '../sec', 'ghost', ''] } },
  none: { subagents: { allowAgents: [] } },
  coder: {},
  sec: {},
};
/** What each agent may spawn under: by its own list, else by that of the defaults (`sec`), and itself. */
const ALLOWED: Record<string, string[]> = {
  a: ['a', 'sec'],
  r: ['r', 'a', 'coder', 'none', 'own', 'sec'],
  own: ['own', 'coder'],
  none: ['none'],
};
/** Spellings of an agent id with the agent that is meant, undefined: none. */
const SPELLINGS: [spelling: string, means: string | undefined][] = [
  ['coder', 'coder'],
  ['CODER ', 'coder'],
  [' Sec', 'sec'],
  ['A', 'a'],
  ['R', 'r'],
  ['own', 'own'],
  ['None', 'none'],
  ['ghost', undefined],
  ['*', undefined],
  ['../sec', undefined],
  ['---', undefined],
  ['-sec-', undefined],
  ['x'.repeat(65), undefined],
];

for (const [shape, agents] of [
  ['agents.list', { list: Object.entries(AGENTS).map(([id, rest]) => ({ id, ...rest })) }],
  ['agents.entries', { entries: AGENTS }],
] as const) {
  test(`[AL1, SP2, BR-092, BR-094, BR-096] with ${shape} agents_list, the schema and sessions_spawn agree, in every spelling`, async (t) => {
    const defaults = { subagents: { allowAgents: ['Sec', 'ghost'] } };
    const world = await startWorld(t, {
      agents: false,
      config: { agents: { defaults, ...agents } },
    });
    for (const [requester, allowed] of Object.entries(ALLOWED)) {
      const key = `agent:${requester}:main`;
      const listed = await world.tool('agents_list', {}, key);
      assert.deepEqual(
        [listed['requester'], listed['allowAny'], (listed['agents'] as Json[]).map(({ id }) => id)],
        [requester, requester === 'r', allowed],
      );
      await world.say(key, 'SAY: hi');
      const { raw } = world.model.requests.at(-1)!;
      for (const id of allowed) assert.ok(raw.includes(id), `the schema names ${id}`);
      // a later rule stops what the list lets through, so that nothing begins
      const spawn = (args: Json) =>
        world.tool('sessions_spawn', { task: 'x', sandbox: 'require', ...args }, key);
      for (const [spelling, means] of SPELLINGS) {
        const { status, error } = await spawn({ agentId: spelling });
        const isAllowed = means !== undefined && allowed.includes(means);
        assert.equal(/sandbox/.test(String(error)), isAllowed, `${spelling} from ${requester}`);
        if (isAllowed) continue;
        assert.match(String(error), /may not be spawned from here|^agentId of sessions_spawn/);
        assert.equal(status, String(error).startsWith('agentId') ? 'error' : 'forbidden');
      }
      const isRequired = requester === 'r';
      for (const args of [{}, { agentId: '' }, { agentId: ' ' }, { agentId: null }]) {
        const { error } = await spawn(args);
        assert.match(String(error), isRequired ? /agentId is required/ : /sandbox/);
      }
    }
    const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
    assert.ok(
      sessions.every(({ key }) => /^agent:(a|r|own|none|coder|sec):main$/.test(String(key))),
    );
  });
}
