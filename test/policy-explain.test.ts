/** `policy.explain` over the socket of a whole gateway: each refusal of the catalogue, as the tool tells it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../src/client/gateway-client.ts';
import {
  FAULTS,
  type FaultName,
  GRANTS,
  type GrantRule,
  REFUSALS,
  type RefusalRule,
} from '../src/core/refusals.ts';
import { GatewayError } from '../src/protocol/errors.ts';
import type { ExplainPolicy, PolicyExplanation } from '../src/service/policy/policy-answers.ts';
import { StoreWatch } from './fuzz/store-watch.ts';
import {
  A,
  addSession,
  B,
  CHILD,
  keepBusy,
  OPEN,
  type RefusalCase,
  REFUSAL_CASES,
} from './helpers/refusal-cases.ts';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

/** Two main sessions and a child of the first, as the case wants them. */
async function worldOf(
  t: TestContext,
  { config = OPEN, prepare }: Partial<RefusalCase> = {},
): Promise<TestWorld & { watch: StoreWatch }> {
  let folder = '';
  const world = await startWorld(t, {
    agents: false,
    careless: true,
    config,
    prepare: (stateDir) => Promise.resolve(void (folder = stateDir)),
  });
  await addSession(world, { key: CHILD, agentId: 'a', spawnedBy: A, rootKey: A, spawnDepth: 1 });
  await prepare?.(world, folder);
  const watch = new StoreWatch(join(folder, 'trunkline.db'));
  t.after(() => watch.close());
  return { ...world, watch };
}

async function clientOf(t: TestContext, world: TestWorld, scope: string): Promise<GatewayClient> {
  const { url, token } = world.gateway;
  const client = await connectGateway({ url, token, scopes: [scope] });
  t.after(() => client.close());
  return client;
}

function explain(world: TestWorld, query: ExplainPolicy): Promise<PolicyExplanation> {
  return world.client.request<PolicyExplanation & Json>('policy.explain', { ...query });
}

/** What the door of the verb itself answers; undefined = nobody can ask that from outside a run. */
async function toldBy(world: TestWorld, query: ExplainPolicy): Promise<Json | undefined> {
  const { verb, to, runId, as = 'main' } = query;
  if (query.inRun !== undefined || verb === 'exchange' || verb === 'ask') return undefined;
  const named = Object.fromEntries(
    Object.entries({ sessionKey: to, label: query.label, agentId: query.agentId }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  const run = runId === undefined ? undefined : { runId };
  try {
    switch (verb) {
      case 'message': {
        const message = { ...named, message: 'm', idempotencyKey: 'k' };
        return await world.client.request('chat.send', message);
      }
      case 'list':
        return await world.tool('sessions_list', { spawnedBy: to }, as);
      case 'read':
        return await world.tool('sessions_history', named, as);
      case 'search':
        return await world.tool('sessions_search', { ...named, query: 'x' }, as);
      case 'send': {
        const message = { ...named, message: 'm', timeoutSeconds: 0, ...query.args };
        return await world.tool('sessions_send', message, as);
      }
      case 'spawn':
        return await world.tool('sessions_spawn', { task: 'm', ...named, ...query.args }, as);
      case 'stop':
        return await world.tool('sessions_stop', run ?? named, as);
      case 'wait': {
        const waited = runId === undefined ? { sessionKeys: [to] } : { runIds: [runId] };
        return await world.tool('sessions_wait', waited, as);
      }
    }
  } catch (error) {
    if (error instanceof GatewayError) return { error: error.message };
    throw error;
  }
}

for (const [rule, refused] of Object.entries(REFUSAL_CASES)) {
  if ('unreachable' in refused) continue;
  test(`[PX1] the refusal ${rule} is explained by its rule and setting, in the words of the tool, and nothing is written`, async (t) => {
    const world = await worldOf(t, refused);
    const before = world.watch.version();
    const answer = await explain(world, refused.query);
    const told = await toldBy(world, refused.query);
    world.watch.assertUnchanged(before, rule);
    assert.equal(answer.rule, rule, JSON.stringify(answer));
    assert.equal(answer.allowed, false);
    const { says, settings } = REFUSALS[rule as RefusalRule];
    assert.equal(answer.says, says);
    assert.equal(answer.settings.length > 0, settings.length > 0);
    const [setting] = answer.settings;
    if (refused.setting !== undefined) {
      assert.deepEqual([setting?.name, setting?.value], refused.setting);
    }
    if (told !== undefined) {
      assert.equal(answer.error, told['error']);
      if ('status' in told) assert.equal(answer.status, told['status']);
    }
  });
}

test('[PX2] every rule that lets through is told with the session that it is about, and nothing is done', async (t) => {
  const world = await worldOf(t, {
    config: {
      ...OPEN,
      agents: {
        list: [{ id: 'a', default: true, subagents: { allowAgents: ['b'] } }, { id: 'b' }],
      },
    },
  });
  await addSession(world, { key: 'agent:a:x', agentId: 'a' });
  const before = world.watch.version();
  const cases: [rule: GrantRule, to: string | undefined, query: ExplainPolicy][] = [
    ['own_session', A, { verb: 'read', to: 'main' }],
    ['own_descendant', CHILD, { verb: 'stop', to: CHILD }],
    ['own_agent', 'agent:a:x', { verb: 'search', to: 'agent:a:x' }],
    ['agent_to_agent', B, { verb: 'send', agentId: 'b' }],
    ['agent_to_agent', B, { verb: 'ask', to: B }],
    ['own_agent', undefined, { verb: 'spawn' }],
    ['allowed_agent', undefined, { verb: 'spawn', agentId: 'b' }],
    ['operator', 'agent:a:new', { verb: 'message', to: 'agent:a:new' }],
  ];
  for (const [rule, to, query] of cases) {
    const answer = await explain(world, query);
    assert.equal(answer.allowed, true, JSON.stringify(answer));
    assert.deepEqual([answer.rule, answer.to, answer.says], [rule, to, GRANTS[rule].says]);
    assert.equal(answer.as, rule === 'operator' ? 'operator' : A);
  }
  world.watch.assertUnchanged(before, 'what is allowed');
  assert.deepEqual(
    new Set(cases.map(([rule]) => rule)),
    new Set(Object.keys(GRANTS)),
    'each rule that lets through has its case',
  );
});

test('[PX1] an override of the session itself is named with its value', async (t) => {
  const world = await worldOf(t);
  const patch = (change: Json) => world.client.request('sessions.patch', { key: B, ...change });
  await patch({ sendPolicy: 'deny' });
  for (const verb of ['send', 'message'] as const) {
    const denied = await explain(world, { verb, to: B });
    assert.deepEqual(denied.settings, [{ name: 'session override', value: 'deny' }], verb);
  }
  await patch({ sendPolicy: null, queueCap: 1, queueDrop: 'new', queueMode: 'followup' });
  await keepBusy(world, B);
  await world.tool('sessions_send', { sessionKey: B, message: 'm', timeoutSeconds: 0 });
  await world.client.request('chat.send', { sessionKey: B, message: 'm', idempotencyKey: 'k1' });
  for (const verb of ['send', 'message'] as const) {
    const full = await explain(world, { verb, to: B });
    assert.deepEqual(full.settings, [{ name: 'session override queueCap', value: 1 }], verb);
    assert.equal((await toldBy(world, { verb, to: B }))?.['error'], full.error, verb);
  }
});

test('[PX1] no key of a provider is told as the value of a setting', async (t) => {
  const apiKey = 'a-key-of-no-known-form';
  const providers = { fake: { apiKey, models: [{ id: 'fake-1' }] } };
  const world = await worldOf(t, { config: { ...OPEN, models: { providers } } });
  const answer = await explain(world, { verb: 'spawn', args: { budget: { usd: 1 } } });
  assert.equal(answer.rule, 'budget_unpriced');
  assert.deepEqual(answer.settings, [{ name: 'models.providers.*.models[].cost', value: null }]);
  assert.doesNotMatch(JSON.stringify(answer), new RegExp(apiKey));
});

test('[PX1, TP7] a setting of one model is told with its value, whatever is in the name of the model', async (t) => {
  const providers = { fake: { models: [{ id: 'v4.1[x]' }] } };
  const byProvider = { 'fake/v4.1[x]': { deny: ['sessions_send'] } };
  const list = [
    { id: 'a', default: true, model: 'fake/v4.1[x]' },
    { id: 'b', tools: { byProvider } },
  ];
  const config = { ...OPEN, models: { providers }, agents: { list } };
  const tools = { ...(OPEN['tools'] as Json), byProvider };
  const world = await worldOf(t, { config: { ...config, tools } });
  const answer = await explain(world, { verb: 'send', to: B });
  const name = 'tools.byProvider.fake/v4.1[x].deny';
  assert.deepEqual(answer.settings, [{ name, value: ['sessions_send'] }]);
});

test('[PX3] a session that is not there, a run that is not its own, wrong arguments, what the verb does not take and a question without a target are errors', async (t) => {
  const world = await worldOf(t);
  const { runId } = await world.client.request('agent', {
    sessionKey: B,
    message: 'SAY: x',
    idempotencyKey: 'k',
  });
  const asks: [code: string, text: RegExp, query: Json][] = [
    ['not_found', /agent:a:nobody/, { as: 'agent:a:nobody', verb: 'send', to: B }],
    ['not_found', /r0/, { verb: 'send', to: B, inRun: 'r0' }],
    ['invalid_request', /not one of/, { verb: 'send', to: B, inRun: runId }],
    ['invalid_request', /give to, label/, { verb: 'send' }],
    ['invalid_request', /give to or runId/, { verb: 'stop' }],
    [
      'invalid_request',
      /args: .*timeoutSeconds/,
      { verb: 'send', to: B, args: { timeoutSeconds: -1 } },
    ],
    ['invalid_request', /args: .*limit/, { verb: 'read', to: B, args: { limit: 'x' } }],
    ['invalid_request', /args: .*"depth"/, { verb: 'stop', to: B, args: { depth: 1 } }],
    ['invalid_request', /leave "as" out/, { verb: 'message', as: A, to: B }],
    [
      'invalid_request',
      /message takes to, agentId; leave "label"/,
      { verb: 'message', label: 'x' },
    ],
    ['invalid_request', /leave "args" out/, { verb: 'ask', to: B, args: {} }],
    ['invalid_request', /leave "to" out/, { verb: 'spawn', to: B }],
    ['invalid_request', /leave "runId" out/, { verb: 'read', to: B, runId }],
    ['invalid_request', /leave label and agentId out/, { verb: 'send', to: B, label: 'x' }],
    ['invalid_request', /leave runId out/, { verb: 'wait', to: B, runId }],
    ['invalid_request', /verb/, { verb: 'delete', to: B }],
  ];
  for (const [code, text, query] of asks) {
    await assert.rejects(
      explain(world, query as unknown as ExplainPolicy),
      (error: GatewayError) => {
        assert.equal(error.code, code);
        assert.match(error.message, text);
        return true;
      },
    );
  }
});

/** What makes each fault of a call, by the tool or in a run; those of clients and of the disk: inbox.test.ts, attachments.test.ts; of ours: nowhere. */
const FAULT_CASES: Record<
  Exclude<FaultName, 'inbox' | 'attachments' | 'failed'>,
  [RegExp, Json[]]
> = {
  arguments: [/needs sessionKey/, [{ tool: 'sessions_history', args: {} }]],
  cursor: [
    /cursor/,
    [
      { tool: 'sessions_list', args: { cursor: 'x' } },
      { tool: 'sessions_history', args: { sessionKey: 'main', cursor: 'x' } },
      { tool: 'sessions_search', args: { query: 'x', cursor: 'x' } },
    ],
  ],
  words: [/query/, [{ tool: 'sessions_search', args: { query: '!' } }]],
  key_used: [
    /use a new key/,
    [
      { tool: 'sessions_send', args: { sessionKey: B, message: 'n', timeoutSeconds: 0 } },
      { tool: 'sessions_spawn', args: { task: 'n' } },
    ],
  ],
  unknown_tool: [/no tool nothing here/, []],
};

test('[PX1] what is no refusal is a fault of the call, and a closed list of them', async (t) => {
  const world = await worldOf(t);
  await world.tool('sessions_send', {
    sessionKey: B,
    message: 'm',
    timeoutSeconds: 0,
    idempotencyKey: 'k',
  });
  await world.tool('sessions_spawn', { task: 'm', idempotencyKey: 'k' });
  for (const [name, [text, calls]] of Object.entries(FAULT_CASES)) {
    for (const { tool, args } of calls as { tool: string; args: Json }[]) {
      const key = name === 'key_used' ? { idempotencyKey: 'k' } : {};
      const answer = await world.tool(tool, { ...args, ...key });
      assert.equal(answer['status'], 'error', `${name} of ${tool}`);
      assert.match(String(answer['error']), text);
    }
  }
  await world.say(A, 'TOOL: nothing {}\nSAY: x');
  const [unknown] = await world.toolAnswers(A);
  assert.match(String(unknown?.['error']), FAULT_CASES.unknown_tool[0]);
  assert.deepEqual(Object.keys(FAULTS), [
    ...Object.keys(FAULT_CASES),
    'inbox',
    'attachments',
    'failed',
  ]);
});

test('[PX4] a session cannot ask: the scope is an operator’s, and no tool, with or without a run, reaches it', async (t) => {
  const world = await worldOf(t, {
    config: { ...OPEN, tools: { ...(OPEN['tools'] as Json), allow: ['*', 'policy_explain'] } },
  });
  for (const tool of ['policy.explain', 'policy_explain']) {
    await assert.rejects(world.tool(tool, { verb: 'send', to: B }), /unknown tool/);
  }
  await world.say(A, 'TOOL: policy_explain {"verb":"send"}\nSAY: x');
  assert.match(String((await world.toolAnswers(A))[0]?.['error']), /no tool policy_explain here/);
  const reading = await clientOf(t, world, 'operator.read');
  assert.equal((await reading.request('policy.explain', { verb: 'send', to: B }))['allowed'], true);
  const pairing = await clientOf(t, world, 'operator.pairing');
  await assert.rejects(pairing.request('policy.explain', { verb: 'send', to: B }), {
    code: 'forbidden',
  });
});
