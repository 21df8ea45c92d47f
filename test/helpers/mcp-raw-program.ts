/**
 * A program that behaves badly as an MCP server over stdio: `node test/helpers/mcp-raw-program.ts WAY`.
 * It speaks the protocol by hand, because no library would let it do these things.
 */
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

type Json = Record<string, unknown>;

const [way = ''] = process.argv.slice(2);

const tool = (name: string, more: Json = {}): Json => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});
const deep = (levels: number): Json =>
  levels === 0 ? { type: 'object' } : { type: 'object', properties: { a: deep(levels - 1) } };

const LISTS: Record<string, () => Json[]> = {
  odd: () => [
    tool('same'),
    tool('same'),
    tool('a b'),
    tool('a.b'),
    tool('a-b'),
    tool(`${'long_'.repeat(30)}end`),
    tool('hidden', { description: `Plain\u{e0041}\u202e words.\u0007 ${'z'.repeat(5000)}` }),
    tool('huge', { inputSchema: { type: 'object', description: 'h'.repeat(50_000) } }),
    tool('deep', { inputSchema: deep(40) }),
  ],
  many: () => Array.from({ length: 1_000 }, (_, at) => tool(`t${at}`)),
};

let pages = 0;

const ANSWERS: Record<string, () => Json> = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'raw', version: '1' },
  }),
  'tools/list': () => ({
    tools: (LISTS[way] ?? (() => [tool('go')]))(),
    ...(way === 'endless' ? { nextCursor: String((pages += 1)) } : {}),
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: `done by ${process.pid}` }] }),
};

function answer({ id, method }: Json): void {
  const isCall = method === 'tools/call';
  if (way === 'listless' && method === 'tools/list') return;
  if (way === 'silent' || way === 'stubborn and silent' || (way === 'mute' && isCall)) return;
  if (way === 'fill' && isCall) {
    process.stdout.write(`{"jsonrpc":"2.0","id":${String(id)},"result":"${'f'.repeat(11_000_000)}`);
    return;
  }
  if (way === 'error' && isCall) {
    const error = { code: -32_602, message: 'the argument when is missing' };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
    return;
  }
  const result = ANSWERS[String(method)]?.();
  if (result !== undefined && id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}

if (way === 'noisy') {
  process.stdout.write(`${'not JSON at all\n'.repeat(20_000)}`);
  process.stderr.write(`${'chatter '.repeat(500_000)}\n`);
}
if (way === 'gone') {
  process.stderr.write('cannot start: no such thing\n');
  process.exit(1);
}
const effects = process.env['EFFECTS'];
if (effects !== undefined) writeFileSync(effects, String(process.pid));
const isStubborn = way.startsWith('stubborn');
if (isStubborn) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1_000);
}
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => answer(JSON.parse(line) as Json));
lines.on('close', () => {
  if (!isStubborn) process.exit(0);
});
