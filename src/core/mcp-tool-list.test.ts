import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ListedTool, toMcpTools } from './mcp-tool-list.ts';
import { mcpToolNames, serverNameFault } from './mcp-tool-names.ts';

const listed = (...names: string[]): ListedTool[] =>
  names.map((name) => ({ name, inputSchema: { type: 'object' } }));
const namesOf = (...names: string[]): string[] =>
  toMcpTools('s', listed(...names), {}).tools.map(({ name }) => name);

test('[MS4] a name that every model takes stays, another one is made so, and no two tools share one', () => {
  assert.deepEqual(namesOf('b', 'a', 'B_2-x'), ['s__B_2-x', 's__a', 's__b']);
  assert.deepEqual(namesOf('get issue/v2'), ['s__get-issue-v2']);
  const [plain, ...marked] = namesOf('a-b', 'a.b', 'a b');
  assert.equal(plain, 's__a-b');
  for (const name of marked) assert.match(name, /^s__a-b-[0-9a-f]{6}$/);
  assert.equal(new Set(marked).size, 2);
  const [long] = namesOf('x'.repeat(200));
  assert.match(long ?? '', /^s__x{54}-[0-9a-f]{6}$/);
});

test('[MS4] the name of a tool does not depend on the order in which its server lists them', () => {
  const names = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', '.', '-', ' ', '_', 'é') }), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(names, (given) => {
      const forth = mcpToolNames('s', given);
      const back = mcpToolNames('s', given.toReversed());
      for (const name of given) {
        assert.equal(forth.get(name), back.get(name));
        assert.match(forth.get(name) ?? '', /^[A-Za-z0-9_-]{1,64}$/);
      }
    }),
  );
});

test('[MS4] a tool that is listed twice, or takes the name that another one was given, is left out by name', () => {
  const marked = namesOf('a.b', 'a-b').at(-1)?.slice('s__'.length) ?? '';
  const { tools, leftOut } = toMcpTools('s', listed('a-b', 'a.b', marked, 'a-b'), {});
  assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
  assert.deepEqual(leftOut, [`${marked} is there twice`, 'a-b is there twice']);
});

test('[MS5] descriptions and schemas are bounded, and a model reads nothing that people do not see', () => {
  const nest = (levels: number): Record<string, unknown> =>
    levels === 0 ? {} : { properties: { a: nest(levels - 1) } };
  const { tools, leftOut } = toMcpTools(
    's',
    [
      {
        name: 'a',
        description: ` One\ttwo\n\u{e0049}\u{e0047}\u202ethree\u200b\u0007${'z'.repeat(5000)}`,
        inputSchema: { type: 'object', $schema: 'x', required: ['q'] },
      },
      { name: 'b', inputSchema: { type: 'object', description: 'h'.repeat(40_000) } },
      { name: 'c', inputSchema: nest(40) },
      { name: '', inputSchema: {} },
    ],
    {},
  );
  assert.equal(tools.length, 1);
  assert.match(tools[0]?.description ?? '', /^One\ttwo\nthreez+$/);
  assert.equal(tools[0]?.description.length, 2_000);
  assert.deepEqual(tools[0]?.parameters, { type: 'object', properties: {}, required: ['q'] });
  assert.deepEqual(leftOut, [
    'b has a schema larger than 32768 bytes',
    'c has a schema deeper than 32 levels',
    ' has no name of 1 to 256 letters',
  ]);
});

test('[MS5] a server has at most 200 tools, and 500 KB of them', () => {
  const many = Array.from({ length: 300 }, (_, at) => `t${at}`);
  const { tools, leftOut } = toMcpTools('s', listed(...many), {});
  assert.deepEqual([tools.length, leftOut.length], [200, 100]);
  const large = listed(...many).map((tool) => ({
    ...tool,
    inputSchema: { type: 'object', title: 't'.repeat(30_000) },
  }));
  assert.equal(toMcpTools('s', large, {}).tools.length, 16);
});

test('[MS6] toolFilter takes tools by the name of the server or the offered one, and exclude wins', () => {
  const of = (filter: Parameters<typeof toMcpTools>[2]): string[] =>
    toMcpTools('s', listed('read_a', 'read_b', 'drop'), filter).tools.map(({ given }) => given);
  assert.deepEqual(of({ include: ['read_*'] }), ['read_a', 'read_b']);
  assert.deepEqual(of({ include: ['s__read_a', 'drop'], exclude: ['dr*'] }), ['read_a']);
  assert.deepEqual(of({ exclude: ['s__*'] }), []);
});

test('[MS4] the name of a server can be that of no other, and of no session tool', () => {
  for (const name of ['github', 'my-server_2', 'X', 'a'.repeat(32)])
    assert.equal(serverNameFault(name), undefined, name);
  for (const name of [
    '',
    ' a',
    'a b',
    '-a',
    'a__b',
    'a_',
    'sessions',
    'Sessions_x',
    'a'.repeat(33),
  ])
    assert.notEqual(serverNameFault(name), undefined, name);
});
