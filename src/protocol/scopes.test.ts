import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantScopes } from './scopes.ts';
import type { OperatorScope } from './scopes.ts';

const read: OperatorScope = 'operator.read';
const write: OperatorScope = 'operator.write';
const admin: OperatorScope = 'operator.admin';
const pairing: OperatorScope = 'operator.pairing';

const cases: { held: OperatorScope[]; asked: string[] | undefined; granted: OperatorScope[] }[] = [
  { held: [admin], asked: undefined, granted: [read, write, admin, pairing] },
  { held: [write], asked: undefined, granted: [read, write] },
  { held: [admin], asked: [], granted: [] },
  { held: [write], asked: [admin], granted: [read, write] },
  { held: [read], asked: [write], granted: [read] },
  { held: [admin], asked: [write], granted: [read, write] },
  { held: [admin], asked: [read], granted: [read] },
  { held: [admin], asked: [pairing], granted: [pairing] },
  { held: [admin], asked: [pairing, read], granted: [read, pairing] },
  { held: [write], asked: [pairing], granted: [] },
  { held: [pairing], asked: undefined, granted: [pairing] },
  { held: [admin], asked: ['operator.approvals', 'operator.talk.secrets'], granted: [] },
  { held: [], asked: [admin], granted: [] },
];
for (const { held, asked, granted } of cases)
  test(`[GW5, BR-067] ${JSON.stringify({ held, asked })} grants ${JSON.stringify(granted)}`, () =>
    assert.deepEqual(grantScopes({ asked, held }), granted));
