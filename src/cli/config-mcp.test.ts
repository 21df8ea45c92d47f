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

test('[MS18] what a server says of itself does not reach the terminal as it is', async (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'config-mcp-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const rude = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    const error = { code: -32000, message: '\\u001b[2Jgone\\nother: 9 tools' };
    const serverInfo = { name: 'rude', version: '1' };
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
    const answer = method === 'initialize' ? { result } : { error };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  })`;
  const servers = { rude: { command: process.execPath, args: ['-e', rude] } };
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify({ mcp: { servers } }));
  const { out } = await runCli(['config', 'mcp', '--state-dir', stateDir]);
  assert.equal(out, 'rude: cannot be used: it answered: \\u001b[2Jgone other: 9 tools');
});
