import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
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

  it('lets different state directories be used side by side', () => {
    const locks = ['a', 'b'].map((name) => lockState(join(root, name)));
    for (const lock of locks) lock.release();
  });
});
