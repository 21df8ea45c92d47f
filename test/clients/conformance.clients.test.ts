/** The protocol's own conformance suite against `/mcp`, at every revision that is served. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startWorld } from '../helpers/test-world.ts';
import { NOT_OFFERED } from './conformance-expected.ts';
import { withConformanceFixtures } from './conformance-fixtures.ts';

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}
/** What the suite found, by scenario. */
type Findings = Map<string, Check[]>;

const PROGRAM = join(
  import.meta.dirname,
  'node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
/** Revisions, and how many scenarios the suite has for a server of each: one that is gone is no success. */
const REVISIONS = { '2025-06-18': 27, '2025-11-25': 33, '2026-07-28': 40 };
const EXPECTED = Object.values(NOT_OFFERED).flat();

/** Runs every scenario of a revision, whatever becomes of each. */
async function runSuite(
  t: TestContext,
  { url, revision }: { url: string; revision: string },
): Promise<Findings> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const args = ['server', '--url', url, '--suite', 'all', '--spec-version', revision, '-o', folder];
  await new Promise<void>((resolve) =>
    // it ends with 1 when anything fails: what counts is in the folder
    execFile(process.execPath, [PROGRAM, ...args], { timeout: 120_000 }, () => resolve()),
  );
  return new Map(
    readdirSync(folder).map((name) => [
      name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT[\d-]*Z$/, '$1'),
      JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[],
    ]),
  );
}

/** The checks that did not go well, each with what the suite says of it. */
function faults(findings: Findings): Map<string, string> {
  const found = [...findings].flatMap(([scenario, checks]) =>
    checks
      .filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
      .map(({ id, errorMessage = '' }) => [`${scenario}:${id}`, errorMessage] as const),
  );
  return new Map(found);
}

const scenarioOf = (entry: string): string => entry.slice(0, entry.indexOf(':'));

describe('the conformance suite', { concurrency: 1 }, () => {
  const seen = new Set<string>();
  for (const [revision, scenarios] of Object.entries(REVISIONS))
    it(`[MD15] finds all that is offered as revision ${revision} says, and misses only what is not offered`, async (t) => {
      const world = await startWorld(t, {
        config: { gateway: { auth: { mode: 'none' } } },
        extendMcp: withConformanceFixtures,
      });
      const url = new URL('/mcp', world.gateway.url).href;
      const findings = await runSuite(t, { url, revision });
      assert.equal(findings.size, scenarios, [...findings.keys()].join());
      for (const scenario of findings.keys()) seen.add(scenario);
      const found = faults(findings);
      const expected = EXPECTED.filter((entry) => findings.has(scenarioOf(entry)));
      assert.deepEqual([...found.keys()].toSorted(), expected.toSorted(), told(found));
    });

  it('[MD15] every expected failure is said once, of a scenario that there is', () => {
    assert.deepEqual(EXPECTED.toSorted(), [...new Set(EXPECTED)].toSorted());
    assert.deepEqual(
      EXPECTED.filter((entry) => !seen.has(scenarioOf(entry))),
      [],
    );
  });
});

function told(found: Map<string, string>): string {
  const lines = [...found].filter(([entry]) => !EXPECTED.includes(entry));
  return lines.map(([entry, message]) => `${entry}: ${message}`).join('\n');
}
