import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** Keeps 40 MB in a new process, as `how` says, and returns the size of its young generation, MB. */
function youngGeneration(how: 'plain' | 'lean' | 'after'): number {
  const program = `
    import v8 from 'node:v8';
    import { loadLean } from ${JSON.stringify(new URL('load-lean.ts', import.meta.url).href)};
    const kept = [];
    const keep = async () => { for (let i = 0; i < 400_000; i += 1) kept.push({ i, of: [i, i, i] }); };
    if (${JSON.stringify(how)} === 'lean') await loadLean(keep);
    if (${JSON.stringify(how)} === 'plain') await keep();
    if (${JSON.stringify(how)} === 'after') { await loadLean(async () => {}); await keep(); }
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    console.log(young.space_size / 1e6);
  `;
  const options = { encoding: 'utf8', timeout: 30_000 } as const;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], options));
}

test('the young generation does not grow while the program loads, and may grow afterwards', () => {
  // How large it starts is V8's choice and differs by machine; that it does not double again and again is ours.
  const lean = youngGeneration('lean');
  assert.ok(youngGeneration('plain') >= 2 * lean, `${lean} MB`);
  assert.ok(youngGeneration('after') >= 2 * lean, `${lean} MB`);
});
