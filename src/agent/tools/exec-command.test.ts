import assert from 'node:assert/strict';
import { link, readdir, readFile, symlink, watch, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createTempWorkspace } from '../../../test/helpers/temp-workspace.ts';
import { createExecTool } from './exec-command.ts';

const exec = createExecTool();

describe('exec', () => {
  it('runs in the workspace, reads and writes its files', async () => {
    await using workspace = await createTempWorkspace();
    await writeFile(join(workspace.path, 'in.txt'), 'b\na\n');
    const outcome = await exec.execute(
      { command: 'pwd; sort in.txt | tee out.txt' },
      workspace.context,
    );
    assert.deepEqual(outcome, { text: '/workspace\na\nb', isError: false });
    assert.equal(await readFile(join(workspace.path, 'out.txt'), 'utf8'), 'a\nb\n');
  });

  it('tells the exit code and the error output', async () => {
    await using workspace = await createTempWorkspace();
    const outcome = await exec.execute(
      { command: 'echo out; echo err >&2; exit 3' },
      workspace.context,
    );
    assert.deepEqual(outcome, { text: 'out\n[stderr]\nerr\n[exit code 3]', isError: true });
  });

  it('sees nothing of the host: no files, no environment, no network, no programs', async () => {
    await using workspace = await createTempWorkspace();
    await writeFile(join(workspace.outside, 'secret.txt'), 'secret');
    await symlink(workspace.outside, join(workspace.path, 'out'));
    const commands = [
      'cat /etc/passwd',
      `cat ${workspace.outside}/secret.txt`,
      'cat ../outside/secret.txt',
      'cat out/secret.txt',
      'ls out/',
      'echo owned > out/new.txt',
      'curl http://127.0.0.1/',
      'node --version',
    ];
    for (const command of commands) {
      const outcome = await exec.execute({ command }, workspace.context);
      assert.ok(outcome.isError, `${command}: ${outcome.text}`);
      assert.doesNotMatch(outcome.text, /secret$|root:/);
    }
    const { text } = await exec.execute({ command: 'env' }, workspace.context);
    assert.ok(!text.includes(process.env.PATH ?? 'no path'));
    assert.deepEqual(await readdir(workspace.outside), ['secret.txt']);
  });

  it('cannot make a link that leads out, nor write through one that was there', async () => {
    await using workspace = await createTempWorkspace();
    await writeFile(join(workspace.outside, 'linked'), 'old');
    await link(join(workspace.outside, 'linked'), join(workspace.path, 'hard'));
    const outcome = await exec.execute(
      { command: `ln -s ${workspace.outside} away; echo new >> hard; ls` },
      workspace.context,
    );
    assert.match(outcome.text, /^hard$/m);
    assert.doesNotMatch(outcome.text, /^away$/m);
    assert.equal(await readFile(join(workspace.outside, 'linked'), 'utf8'), 'old');
  });

  it('leaves the middle out of a long output', async () => {
    await using workspace = await createTempWorkspace();
    const short = createExecTool({ maxOutputCharacters: 20 });
    const { text } = await short.execute({ command: 'seq 1 1000' }, workspace.context);
    assert.match(text, /^1\n2\n3\n4\n5\n\n\[… \d+ characters left out …\]\n/);
    assert.match(text, /1000$/);
  });

  it('ends a command at the time limit and says so', async () => {
    await using workspace = await createTempWorkspace();
    const hasty = createExecTool({ timeoutMs: 1 });
    const outcome = await hasty.execute({ command: 'sleep 600' }, workspace.context);
    assert.ok(outcome.isError);
    assert.match(outcome.text, /^exec: stopped after 0\.001 s/);
  });

  it('ends a running command when the run is aborted', async () => {
    const abort = new AbortController();
    await using workspace = await createTempWorkspace(abort.signal);
    const changes = watch(workspace.path);
    const started = (async () => {
      for await (const change of changes) if (change.filename === 'started') return;
    })();
    const running = exec.execute(
      { command: 'echo x > started; sleep 600; echo y > ended' },
      workspace.context,
    );
    await started;
    abort.abort();
    assert.deepEqual(await running, {
      text: 'exec: stopped, because the run was aborted',
      isError: true,
    });
    assert.deepEqual(await readdir(workspace.path), ['started']);
  });

  it('starts nothing when the run is aborted already', async () => {
    await using workspace = await createTempWorkspace(AbortSignal.abort());
    await exec.execute({ command: 'echo x > started' }, workspace.context);
    assert.deepEqual(await readdir(workspace.path), []);
  });
});
