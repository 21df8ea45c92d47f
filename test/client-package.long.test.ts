/** What the package gives as `trunkline/client`, as somebody who installs it has it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { startWorld } from './helpers/test-world.ts';

const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>;
  files: string[];
};
const entry = manifest.exports['./client']!;

/** Makes a folder in which the package is installed as it is built. */
async function installed(t: TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'user-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const home = join(folder, 'node_modules/trunkline');
  mkdirSync(home, { recursive: true });
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const build = ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(home, 'dist')];
  await run(process.execPath, [compiler, ...build]);
  writeFileSync(join(home, 'package.json'), readFileSync(join(ROOT, 'package.json')));
  for (const name of ['zod', '@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

/** The files that a built module is made of, and what else it imports. */
function modulesOf(
  path: string,
  seen = new Set<string>(),
): { files: Set<string>; others: string[] } {
  const others: string[] = [];
  if (!seen.has(path)) {
    seen.add(path);
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:from|import)\s*\(?'([^']+)'/g,
    )) {
      if (name.startsWith('.')) others.push(...modulesOf(join(dirname(path), name), seen).others);
      else others.push(name);
    }
  }
  return { files: seen, others };
}

test('[CL8] the example of docs/client.md runs as it stands, with the package as it is published', async (t) => {
  const folder = await installed(t);
  const page = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
  const example = /as `hello\.mjs`:\n\n```js\n([^]*?)```/.exec(page)?.[1] ?? '';
  const lines = example.trim().split('\n');
  assert.ok(lines.length > 5 && lines.length <= 20, `${lines.length} lines`);
  writeFileSync(join(folder, 'hello.mjs'), example);
  const world = await startWorld(t);
  const { stdout, stderr } = await run(process.execPath, ['hello.mjs'], {
    cwd: folder,
    env: {
      TRUNKLINE_GATEWAY_URL: world.gateway.url,
      TRUNKLINE_GATEWAY_TOKEN: world.gateway.token,
    },
  });
  assert.match(stdout, /^1 user .*SAY: hello from the other side/);
  assert.match(stdout, /^ok hello from the other side$/m);
  assert.equal(stderr, '');

  await t.test(
    'its types are those of the protocol, for strict programs with and without a browser',
    async () => {
      const program = `
      import { createClient, GatewayError } from 'trunkline/client';
      const client = createClient({ url: 'ws://127.0.0.1:1' });
      const { runId } = await client.call('chat.send', { sessionKey: 'main', message: 'm', idempotencyKey: 'k' });
      const wait = await client.call('agent.wait', { runId });
      export const outcome: 'ok' | 'error' | 'timeout' | 'aborted' | undefined = wait.outcome;
      client.on('session.message', ({ seq, message }) => { const n: number = seq; return [n, message.role]; });
      export const isClosed = (error: unknown) => error instanceof GatewayError && error.code === 'unavailable';
      // @ts-expect-error no such method
      await client.call('chat.sent', {});
      // @ts-expect-error a parameter that is missing
      await client.call('chat.send', { sessionKey: 'main' });
      // @ts-expect-error a parameter that does not exist
      await client.call('runs.get', { runId, sessionKey: 'main' });
    `;
      writeFileSync(join(folder, 'program.ts'), program);
      const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
      const strict = ['--noEmit', '--strict', '--module', 'NodeNext', '--target', 'ES2024'];
      for (const surroundings of [
        ['--types', 'node', '--lib', 'ES2024'],
        ['--types', '', '--lib', 'ES2024,DOM'],
      ])
        await run(
          process.execPath,
          [compiler, ...strict, ...surroundings, '--skipLibCheck', 'program.ts'],
          {
            cwd: folder,
          },
        ).catch((error: { stdout: string }) => assert.fail(error.stdout));
    },
  );

  await t.test(
    'it is made of the client and the protocol alone, and imports nothing of Node',
    () => {
      const home = join(folder, 'node_modules/trunkline');
      assert.ok(manifest.files.includes(entry.default.split('/')[1] ?? ''));
      const { files, others } = modulesOf(join(home, entry.default));
      assert.deepEqual(others, []);
      const folders = [...files].map((file) => relative(join(home, 'dist'), dirname(file)));
      assert.deepEqual([...new Set(folders)].sort(), ['client', 'protocol']);
    },
  );
});
