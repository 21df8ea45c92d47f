import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import { listAgents } from './list-agents.ts';

const three = [{ id: 'main', name: 'Main' }, { id: 'sec' }, { id: 'coding' }];

test('[AL1, BR-092] without an allow list an agent may spawn itself alone', (t) => {
  const world = createSessionWorld(t, { agents: { list: three } });
  assert.deepEqual(listAgents(world.context, world.caller('agent:main:main')), {
    requester: 'main',
    allowAny: false,
    agents: [{ id: 'main', name: 'Main', configured: true }],
  });
});

test('[AL1] `*` allows every configured agent, the requester first, the rest by id', (t) => {
  const sec = { id: 'sec', subagents: { allowAgents: ['*'] } };
  const world = createSessionWorld(t, { agents: { list: [three[0]!, sec, three[2]!] } });
  const listed = listAgents(world.context, world.caller('agent:sec:main'));
  assert.deepEqual(
    [listed.allowAny, listed.agents.map((agent) => agent.id)],
    [true, ['sec', 'coding', 'main']],
  );
});

test('[AL1] an allowed agent that is not configured is left out', (t) => {
  const main = { id: 'main', subagents: { allowAgents: ['ghost', 'Coding'] } };
  const world = createSessionWorld(t, { agents: { list: [main, three[2]!] } });
  const listed = listAgents(world.context, world.caller('agent:main:main'));
  assert.deepEqual(
    listed.agents.map((agent) => agent.id),
    ['main', 'coding'],
  );
});
