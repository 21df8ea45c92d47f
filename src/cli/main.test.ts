import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { runCli } from '../../test/helpers/captured-io.ts';
import { TRUNKLINE_VERSION } from '../app/version.ts';

const dir = mkdtempSync(join(tmpdir(), 'trunkline-cli-'));
after(() => rmSync(dir, { recursive: true, force: true }));

test('--help names every command and --version the version', async () => {
  const help = await runCli(['--help']);
  assert.equal(help.exitCode, 0);
  for (const name of ['gateway', 'agent', 'sessions', 'tool', 'call', 'config', 'import', 'tour']) {
    assert.match(help.out, new RegExp(`^  ${name} `, 'm'));
  }
  assert.deepEqual(await runCli(['--version']), {
    exitCode: 0,
    out: TRUNKLINE_VERSION,
    notes: '',
  });
});

describe('a wrong command line is exit code 2, says what is wrong and tries nothing', () => {
  const CASES: [argv: string[], note: RegExp][] = [
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['session', 'list'], /Did you mean sessions/],
    [['sessions', 'lists'], /unknown command 'lists'[^]*Did you mean list/],
    [['sessions', 'history'], /missing required argument 'key'/],
    [['agent'], /required option '--message <text>'/],
    [['tool', 'sessions_list'], /required option '--as <key>'/],
    [['tool', 'sessions_list', '[1]', '--as', 'main'], /must be a JSON object/],
    [['call', 'health', '{probe: true}'], /not JSON/],
    [['gateway', '--port', '70000'], /whole number from 0 to 65535/],
    [['sessions', 'list', '--limit', '0'], /whole number of 1 or more/],
    [['sessions', 'send', 'main', 'hi', '--timeout', '-1'], /number of 0 or more/],
  ];
  for (const [argv, note] of CASES) {
    test(argv.join(' '), async () => {
      const { exitCode, out, notes } = await runCli(argv);
      assert.equal(exitCode, 2);
      assert.equal(out, '');
      assert.match(notes, note);
    });
  }
});

test('no command at all prints the help as an error', async () => {
  const { exitCode, notes } = await runCli([]);
  assert.equal(exitCode, 2);
  assert.match(notes, /Usage: trunkline/);
});

test('a gateway that is not there is one clear line, or JSON on stdout with --json', async () => {
  const env = { TRUNKLINE_STATE_DIR: dir };
  // Port 9 is discard: nothing listens there, and nobody may.
  const plain = await runCli(['call', 'health', '--url', 'http://127.0.0.1:9'], env);
  assert.equal(plain.exitCode, 1);
  assert.equal(plain.out, '');
  assert.match(
    plain.notes,
    /^trunkline: cannot connect to the gateway at [^\n]*trunkline gateway"$/,
  );
  const json = await runCli(['call', 'health', '--url', 'http://127.0.0.1:9', '--json'], env);
  assert.equal(json.exitCode, 1);
  assert.equal(json.notes, '');
  assert.equal(JSON.parse(json.out).error.code, 'unavailable');
});

test('config check lists every fault with its path, and takes a missing file for the defaults', async () => {
  const missing = await runCli(['config', 'check', '--state-dir', dir]);
  assert.equal(missing.exitCode, 0);
  assert.match(missing.out, /is not there; the defaults hold/);
  const path = join(dir, 'bad.json');
  writeFileSync(path, '{ gateway: { port: "x" }, session: { scop: "global" } }');
  const bad = await runCli(['config', 'check', '--config', path]);
  assert.equal(bad.exitCode, 1);
  assert.match(bad.out, /^error +gateway\.port/m);
  assert.match(bad.out, /^error +session\.scop/m);
  const json = await runCli(['config', 'check', '--config', path, '--json']);
  assert.equal(JSON.parse(json.out).ok, false);
  const named = await runCli(['config', 'check', '--config', join(dir, 'gone.json')]);
  assert.equal(named.exitCode, 1);
});

test('config schema is a JSON Schema that names the options', async () => {
  const { exitCode, out } = await runCli(['config', 'schema']);
  assert.equal(exitCode, 0);
  assert.ok(Object.hasOwn(JSON.parse(out).properties, 'gateway'));
});

test('import of a folder that is not there is refused before anything is made', async () => {
  const { exitCode, notes } = await runCli(['import', 'openclaw', join(dir, 'none')], {
    TRUNKLINE_STATE_DIR: join(dir, 'state'),
  });
  assert.equal(exitCode, 1);
  assert.match(notes, /is not a folder that can be read/);
});
