import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantScopes } from './scopes.ts';
import type { OperatorScope } from './scopes.ts';

const read: OperatorScope = 'operator.read';
const write: OperatorScope = 'operator.write';
const admin: OperatorScope = 'operator.admin';

const cases: { held: OperatorScope[]; asked: string[] | undefined; granted: OperatorScope[] }[] = [
  { held: [admin], asked: undefined, granted: [read, write, admin] },
  { held: [write], asked: undefined, granted: [read, write] },
  { held: [admin], asked: [], granted: [] },
  { held: [write], asked: [admin], granted: [read, write] },
  { held: [read], asked: [write], granted: [read] },
  { held: [admin], asked: [write], granted: [read, write] },
  { held: [admin], asked: [read], granted: [read] },
  { held: [admin], asked: ['operator.pairing'], granted: [] },
  { held: [admin], asked: ['operator.pairing', read], granted: [read] },
  { held: [], asked: [admin], granted: [] },
];
for (const { held, asked, granted } of cases)
  test(`[GW5, BR-067] ${JSON.stringify({ held, asked })} grants ${JSON.stringify(granted)}`, () =>
    assert.deepEqual(grantScopes({ asked, held }), granted));
