/** Every unit of work of the use cases has its place in the crash table, or a reason to have none. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import {
  ATTACHMENT_STEPS,
  CHAT_STEPS,
  CRASH_STEPS,
  DEVICE_STEPS,
  UPKEEP_STEPS,
} from './crash-table.ts';

const SOURCES = join(import.meta.dirname, '..', '..', 'src', 'service');
/** what stands for the variable part of a name */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'accept-${request.method}': ['accept-agent', 'accept-chat.send'],
};

it('[RC4] every durable step is killed before and after its commit by a test', () => {
  const named = unitsInSources();
  assert.ok(named.size > 10, 'the units are still found');
  const tested = new Set<string>(
    [...CRASH_STEPS, ...ATTACHMENT_STEPS, ...CHAT_STEPS, ...DEVICE_STEPS, ...UPKEEP_STEPS].map(
      ({ unit }) => unit,
    ),
  );
  assert.deepEqual(
    [...named].filter((unit) => !tested.has(unit)),
    [],
    'units without a row',
  );
  assert.deepEqual(
    [...tested].filter((unit) => !named.has(unit)),
    [],
    'rows without a unit',
  );
});

function unitsInSources(): Set<string> {
  const units = new Set<string>();
  for (const file of globSync('**/*.ts', { cwd: SOURCES })) {
    if (file.endsWith('.test.ts')) continue;
    const text = readFileSync(join(SOURCES, file), 'utf8');
    for (const [, rest] of text.matchAll(/store\s*\.write\(\s*([^\s]*)/g)) {
      const name = /^(['"`])(?<name>[^'"`]+)\1/.exec(rest ?? '')?.groups?.['name'];
      assert.ok(name !== undefined, `${file}: a unit needs a literal name, not ${rest}`);
      for (const unit of variantsOf(file, name)) units.add(unit);
    }
  }
  return units;
}

function variantsOf(file: string, name: string): readonly string[] {
  if (!name.includes('${')) return [name];
  const variants = VARIANTS[name];
  assert.ok(variants !== undefined, `${file}: what can ${name} be?`);
  return variants;
}

it('[RC4] each scenario of the crash table has a file that kills in it', () => {
  const files = globSync('crash-points-*.test.ts', { cwd: import.meta.dirname });
  const texts = files.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'));
  for (const scenario of new Set(CRASH_STEPS.map((step) => step.scenario))) {
    const named = texts.filter((text) => text.includes(`'${scenario}'`)).length;
    assert.ok(named > 0, `a file kills ${scenario}`);
  }
});
