import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLayers } from './check-layers.ts';

const LEAF = 'export const x = 1;\n';

/** Each row: the files, and a word of each finding that must come out. */
const CASES: { title: string; files: Record<string, string>; finds: RegExp[] }[] = [
  {
    title: 'a lower layer may be imported',
    files: { 'src/util/a.ts': LEAF, 'src/core/b.ts': `import { x } from '../util/a.ts';\n` },
    finds: [],
  },
  {
    title: 'a higher layer may not be imported, not even for a type',
    files: { 'src/core/a.ts': LEAF, 'src/util/b.ts': `import type { x } from '../core/a.ts';\n` },
    finds: [/util\/ \(0\) imports/],
  },
  {
    title: 'folders with the same number may not import each other',
    files: { 'src/tools/a.ts': LEAF, 'src/gateway/b.ts': `import { x } from '../tools/a.ts';\n` },
    finds: [/same number/],
  },
  {
    title: 'an import over several lines counts',
    files: {
      'src/app/a.ts': LEAF,
      'src/core/b.ts': `import {\n  x,\n} from '../app/a.ts';\n`,
    },
    finds: [/core\/ \(2\) imports/],
  },
  {
    title: 'a lazy import counts',
    files: { 'src/cli/a.ts': LEAF, 'src/core/b.ts': `const a = await import('../cli/a.ts');\n` },
    finds: [/core\/ \(2\) imports/],
  },
  {
    title: 'an import in a comment does not count',
    files: { 'src/core/b.ts': `// import { x } from '../cli/a.ts';\n${LEAF}` },
    finds: [],
  },
  {
    title: 'an implementation is for app and tests',
    files: {
      'src/store/sqlite/a.ts': LEAF,
      'src/service/b.ts': `import { x } from '../store/sqlite/a.ts';\n`,
      'src/service/b.test.ts': `import { x } from '../store/sqlite/a.ts';\n`,
      'src/app/c.ts': `import { x } from '../store/sqlite/a.ts';\n`,
    },
    finds: [/implementation src\/store\/sqlite/],
  },
  {
    title: 'the SQL that both drivers share is theirs alone',
    files: {
      'src/store/sql/a.ts': LEAF,
      'src/store/sqlite/b.ts': `import { x } from '../sql/a.ts';\n`,
      'src/store/c.ts': `import { x } from './sql/a.ts';\n`,
    },
    finds: [/src\/store\/sql\/a/],
  },
  {
    title: 'one implementation may not import another',
    files: {
      'src/agent/embedded/a.ts': LEAF,
      'src/agent/scripted/b.ts': `import { x } from '../embedded/a.ts';\n`,
    },
    finds: [/implementation src\/agent\/embedded/],
  },
  {
    title: 'only a test may import a suite',
    files: {
      'src/store/contract.suite.ts': LEAF,
      'src/store/store.ts': `import { x } from './contract.suite.ts';\n`,
    },
    finds: [/only tests may import/],
  },
  {
    title: 'what helps a test may help a tool, not the program',
    files: {
      'test/helpers/a.ts': LEAF,
      'bench/b.ts': `import { x } from '../test/helpers/a.ts';\n`,
      'src/app/c.ts': `import { x } from '../../test/helpers/a.ts';\n`,
    },
    finds: [/only tests may import/],
  },
  {
    title: 'a cycle is shown as a ring',
    files: {
      'src/core/a.ts': `import { y } from './b.ts';\n`,
      'src/core/b.ts': `import { x } from './a.ts';\n`,
    },
    finds: [/src\/core\/a\.ts → src\/core\/b\.ts → src\/core\/a\.ts/],
  },
  {
    title: 'a barrel is refused by name and by content',
    files: {
      'src/core/a.ts': LEAF,
      'src/core/index.ts': `export { x } from './a.ts';\n`,
      'src/core/all.ts': `export * from './a.ts';\n`,
    },
    finds: [/barrel/, /barrel/],
  },
  {
    title: 'a file in no layer and a vague name are refused',
    files: { 'src/other/a.ts': LEAF, 'src/core/utils.ts': LEAF },
    finds: [/no layer/, /name the file/],
  },
  {
    title: 'an import of a file that is not there is found',
    files: { 'src/core/a.ts': `import { x } from './gone.ts';\n` },
    finds: [/not there/],
  },
];

for (const { title, files, finds } of CASES) {
  test(title, () => {
    const messages = checkLayers(new Map(Object.entries(files))).map((one) => one.message);
    assert.equal(messages.length, finds.length, messages.join('\n'));
    for (const [index, pattern] of finds.entries()) assert.match(messages[index] ?? '', pattern);
  });
}
