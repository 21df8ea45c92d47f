import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { test } from 'node:test';
import { optionTable } from '../protocol/options/option-table.ts';
import { faultOf, GRANTS, REFUSALS, saysOf, settingsOf, toldOf } from './refusals.ts';
import { SPAWN_RULES } from './spawn-rules.ts';

const SOURCES = new URL('../', import.meta.url).pathname;

test('[PX5] a session is told neither the rule of a refusal nor the name of a fault', () => {
  const setting = { name: 'x', value: 1 };
  const told = toldOf({ status: 'forbidden', error: 'no', rule: 'deleted', setting });
  assert.deepEqual(told, { status: 'forbidden', error: 'no' });
  assert.deepEqual(faultOf('cursor', 'bad'), { status: 'error', error: 'bad' });
});

test('[PX5] each rule says what it is and which settings decide it', () => {
  for (const { says } of [...Object.values(REFUSALS), ...Object.values(GRANTS)]) {
    assert.match(says, /\S/);
  }
  assert.deepEqual(settingsOf({ allowed: false, rule: 'queue_cap' }), ['messages.queue.cap']);
  assert.equal(saysOf({ allowed: true, rule: 'own_session' }), 'it is the session itself');
});

test('[PX1] no setting that is told with its value holds a secret', () => {
  const secrets = optionTable().filter(({ note }) => note.secret === true);
  assert.ok(secrets.length > 0);
  const told = [...Object.values(REFUSALS), ...Object.values(GRANTS)].flatMap((rule) => [
    ...rule.settings,
  ]);
  for (const { path } of secrets) {
    const holders = told.filter((name) => `${path}.`.startsWith(`${name}.`));
    assert.deepEqual(holders, [], path);
  }
});

test('[PX5] every rule of a spawn is in the list of refusals', () => {
  for (const { name } of SPAWN_RULES) assert.ok(name in REFUSALS, name);
});

/** Where the word `forbidden` is a value: each is the status of a `Refusal`, which has a rule, or no answer of a tool. */
const FORBIDDEN_IN: Record<string, number> = {
  // rules
  'core/refusals.ts': 1,
  'core/spawn-rules.ts': SPAWN_RULES.filter(({ status }) => status === 'forbidden').length,
  'core/tool-policy.ts': 1,
  'service/delivery/outbox.ts': 1,
  'service/sessions/resolve-target.ts': 1,
  // types, and the word for one
  'protocol/tools/session-tools.ts': 2,
  'protocol/tools/session-tool-answer-schemas.ts': 1,
  'protocol/answers/policy-answers.ts': 1,
  // errors of the operator's doors
  'service/calls/defer-call.ts': 1,
  'service/devices/decide-pairings.ts': 1,
  'service/messages/accept-message.ts': 1,
};

test('[PX5] nothing answers "forbidden" without a rule of the list', () => {
  const found: Record<string, number> = {};
  for (const path of globSync(
    `${SOURCES}{core,protocol/tools,protocol/answers,service,tools,agent}/**/*.ts`,
  )) {
    if (/\.(test|suite)\.ts$/.test(path)) continue;
    const count = readFileSync(path, 'utf8').split("'forbidden'").length - 1;
    if (count > 0) found[relative(SOURCES, path)] = count;
  }
  assert.deepEqual(found, FORBIDDEN_IN);
});
