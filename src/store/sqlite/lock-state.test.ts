import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { lockState } from './lock-state.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-lock-'));
after(() => rmSync(root, { recursive: true, force: true }));

describe('lockState', () => {
  it('gives a state directory to one at a time, and names it to the next', () => {
    const dir = join(root, 'state');
    const lock = lockState(dir);
    assert.throws(() => lockState(dir), {
      code: 'unavailable',
      message: `the state directory ${dir} is in use by another gateway or import; stop it first, or give another --state-dir`,
    });
    lock.release();
    lock.release();
    const next = lockState(dir);
    next.release();
  });

  it('says in one line what is wrong with a directory that cannot be used, and what to do', () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    const help = 'give a directory that this user can write to with --state-dir';
    for (const [dir, reason] of [
      [file, 'is a file'],
      [join(file, 'below'), 'has a file in its path'],
      ...(existsSync('/proc/self')
        ? ([['/proc/state', 'cannot be made: its file system takes no folders there']] as const)
        : []),
    ] as const) {
      const message = `the state directory ${dir} ${reason}; ${help}`;
      assert.throws(() => lockState(dir), { code: 'config', message });
    }
    // what a directory does that takes no new file, also for root
    const closed = join(root, 'closed');
    mkdirSync(join(closed, 'trunkline.lock'), { recursive: true });
    const message = `the state directory ${closed} cannot be written to; ${help}`;
    assert.throws(() => lockState(closed), { code: 'config', message });
  });

  it('lets different state directories be used side by side', () => {
    const locks = ['a', 'b'].map((name) => lockState(join(root, name)));
    for (const lock of locks) lock.release();
  });
});
