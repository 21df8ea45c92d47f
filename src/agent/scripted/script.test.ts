import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseScript, planNext, toChunks, type Step } from './script.ts';

const call = (
  name: string,
  args: Record<string, unknown> = {},
): { name: string; args: object } => ({
  name,
  args,
});

const PARSE_CASES: [string, string, unknown[]][] = [
  ['a text without directives', 'Hello, say: nothing', []],
  ['a directive without its colon', 'SAY hello\nTOOL read', []],
  ['a word that only begins like EMPTY', 'EMPTY handed', []],
  ['a directive within a line', 'please SAY: x', []],
  ['SAY', 'SAY: hello: you', [{ op: 'say', text: 'hello: you' }]],
  ['time stamps and markers in front', '[Mon 10:00] [a b]: SAY: x', [{ op: 'say', text: 'x' }]],
  [
    'TOOL with arguments',
    'TOOL: read {"path":"a"}',
    [{ op: 'calls', calls: [call('read', { path: 'a' })] }],
  ],
  ['TOOL without arguments', 'TOOL: agents_list', [{ op: 'calls', calls: [call('agents_list')] }]],
  [
    'a script inside an argument',
    String.raw`TOOL: s {"m":"TOOL: a\nSAY: b"}`,
    [{ op: 'calls', calls: [call('s', { m: 'TOOL: a\nSAY: b' })] }],
  ],
  [
    'TOOLS',
    'TOOLS: [{"name":"a"},{"name":"b","args":{"n":1}}]',
    [{ op: 'calls', calls: [call('a'), call('b', { n: 1 })] }],
  ],
  [
    'SLEEP, CHUNKS, EMPTY',
    'SLEEP: 5\r\nCHUNKS: 3\r\n  EMPTY ',
    [{ op: 'sleep', ms: 5 }, { op: 'chunks', count: 3 }, { op: 'empty' }],
  ],
  ['FAIL', 'FAIL: 500 boom', [{ op: 'fail', message: '500 boom' }]],
];

describe('parseScript', () => {
  for (const [title, text, steps] of PARSE_CASES) {
    it(`reads ${title}`, () => assert.deepEqual(parseScript(text), steps));
  }

  for (const text of [
    'TOOL: read {"path"',
    'TOOL:',
    'TOOLS: {}',
    'TOOLS: []',
    'TOOLS: [1]',
    'SLEEP: soon',
    'CHUNKS: -1',
  ]) {
    it(`turns the unreadable ${JSON.stringify(text)} into a failure that names it`, () => {
      const [step] = parseScript(text);
      assert.equal(step?.op, 'fail');
      assert.match(step.op === 'fail' ? step.message : '', /line of the script needs/);
    });
  }

  it('stays fast on a long line of brackets', () => {
    assert.deepEqual(parseScript(`${'[] '.repeat(50_000)}x`), []);
  });
});

describe('planNext', () => {
  const steps: Step[] = parseScript(
    'SLEEP: 1\nTOOL: a\nSLEEP: 2\nTOOLS: [{"name":"b"},{"name":"c"}]\nSLEEP: 4\nCHUNKS: 2\nSAY: end',
  );
  const offered = ['a', 'b', 'c'];

  it('goes on behind the calls that have results', () => {
    const at = (...results: string[]): unknown => planNext(steps, { results, offered });
    assert.deepEqual(at(), { sleepMs: 1, action: { kind: 'calls', calls: [call('a')] } });
    assert.deepEqual(at('1'), {
      sleepMs: 2,
      action: { kind: 'calls', calls: [call('b'), call('c')] },
    });
    assert.deepEqual(at('1', '2', '3'), {
      sleepMs: 4,
      action: { kind: 'answer', text: 'end', chunks: 2 },
    });
  });

  it('answers DONE with the last result when the script ends without SAY', () => {
    const plan = planNext(parseScript('TOOL: a'), { results: ['{"ok":true}'], offered });
    assert.deepEqual(plan.action, { kind: 'answer', text: 'DONE: {"ok":true}', chunks: 1 });
  });

  it('says which tools are offered instead of calling another one', () => {
    const plan = planNext(parseScript('TOOL: x'), { results: [], offered: ['b', 'a'] });
    assert.deepEqual(plan.action, {
      kind: 'answer',
      text: 'NO_SUCH_TOOL: x; offered: a,b',
      chunks: 1,
    });
  });
});

describe('toChunks', () => {
  it('cuts into at most that many well-formed pieces that join to the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), (text, count) => {
        const pieces = toChunks(text, count);
        assert.equal(pieces.join(''), text);
        assert.ok(pieces.length <= count);
        assert.ok(pieces.every((piece) => piece !== '' && piece.isWellFormed()));
      }),
    );
  });
});
