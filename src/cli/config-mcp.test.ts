/** `trunkline config mcp`: the configured servers, tried without a gateway. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../test/helpers/captured-io.ts';
import { badServer } from '../../test/helpers/mcp-servers.ts';

test('[MS18] each server is started and says what it has, or why it cannot be used', async (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'config-mcp-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const telling = 'console.error(`bad key ${process.env.API_KEY}`); process.exit(1)';
  const servers = {
    well: badServer('', { agents: ['other'] }),
    broken: { command: process.execPath, args: ['-e', telling], env: { API_KEY: 'open-sesame' } },
    off: badServer('', { enabled: false }),
  };
  const config = { mcp: { servers }, agents: { list: [{ id: 'main' }, { id: 'other' }] } };
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  const args = ['config', 'mcp', '--state-dir', stateDir];
  const { exitCode, out } = await runCli(args);
  assert.equal(exitCode, 1);
  assert.deepEqual(out.trim().split('\n'), [
    'well: 1 tool',
    '    well__go',
    'broken: cannot be used: it ended',
    '    bad key [masked]',
    'off: switched off',
  ]);
  const told = JSON.parse((await runCli([...args, '--json'])).out) as { name: string }[];
  assert.deepEqual(
    told.map(({ name }) => name),
    ['well', 'broken', 'off'],
  );
});
