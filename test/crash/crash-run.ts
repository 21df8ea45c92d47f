/**
 * Kills a gateway process at a step of the crash table, starts the next one on what it left, and
 * holds the end against that of a gateway that nobody killed.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connectGateway } from '../../src/client/gateway-client.ts';
import { examineStore } from '../../src/store/sqlite/doctor/examine-store.ts';
import { systemClock } from '../../src/util/clock.ts';
import {
  countAccepted,
  findLoose,
  readStory,
  type Story,
  withoutTokens,
} from '../helpers/crash-story.ts';
import {
  CRASH_CONFIG,
  type GatewayProcess,
  makeStateDir,
  startGatewayProcess,
} from '../helpers/gateway-process.ts';
import { databaseOf, openGateway, type OpenGateway } from '../helpers/open-gateway.ts';
import type { CrashStep } from './crash-table.ts';
import { EDITED_FILE, KEY, type Scenario, type ScenarioName, SCENARIOS } from './scenarios.ts';
import { PATIENCE_MS } from '../helpers/patience.ts';

export interface CrashRun {
  /** how the scenario ends when nobody disturbs it */
  storyOf(scenario: ScenarioName): Promise<Story>;
  killAndGoOn(t: TestContext, step: CrashStep, when: 'before' | 'after'): Promise<void>;
  /** Removes what it made. */
  close(): void;
}

/** Prepares the state that every run starts from: scout has a chat, so that exchanges are announced. */
export async function prepareCrashRun(): Promise<CrashRun> {
  const cleanups: (() => unknown)[] = [];
  const life = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) } as TestContext;
  const template = makeStateDir(life, { config: CRASH_CONFIG });
  mkdirSync(join(template, 'workspace'));
  writeFileSync(join(template, 'workspace', EDITED_FILE), 'to do');
  const gateway = await openGateway(life, template);
  const request = { sessionKey: 'agent:scout:main', message: 'SAY: here', idempotencyKey: 'first' };
  await gateway.client.request('chat.send', request);
  await gateway.settled();
  await gateway.close();

  const stories = new Map<ScenarioName, Promise<Story>>();
  const storyOf = (name: ScenarioName): Promise<Story> => {
    const story = stories.get(name) ?? undisturbed(life, { template, scenario: SCENARIOS[name] });
    stories.set(name, story);
    return story;
  };
  return {
    storyOf,
    killAndGoOn: async (t, step, when) =>
      killAndGoOn(t, { template, step, when, expected: await storyOf(step.scenario) }),
    close: () => cleanups.reverse().forEach((cleanup) => cleanup()),
  };
}

async function undisturbed(
  t: TestContext,
  { template, scenario }: { template: string; scenario: Scenario },
): Promise<Story> {
  const stateDir = makeScenarioDir(t, { template, scenario });
  const gateway = await openGateway(t, stateDir);
  await playToTheEnd(gateway, scenario);
  await gateway.close();
  return readStory(databaseOf(stateDir));
}

function makeScenarioDir(
  t: TestContext,
  { template, scenario }: { template: string; scenario: Scenario },
): string {
  const stateDir = makeStateDir(t, { copyOf: template });
  const { subagents, maintenance } = scenario;
  if (subagents !== undefined || maintenance !== undefined) {
    const config = {
      ...CRASH_CONFIG,
      ...(subagents === undefined ? {} : { agents: withSubagents(subagents) }),
      ...(maintenance === undefined ? {} : { session: { maintenance } }),
    };
    writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  }
  return stateDir;
}

function withSubagents(subagents: Record<string, unknown>): Record<string, unknown> {
  const { agents } = CRASH_CONFIG as { agents?: { defaults?: Record<string, unknown> } };
  return { ...agents, defaults: { ...agents?.defaults, subagents } };
}

interface Kill {
  template: string;
  step: CrashStep;
  when: 'before' | 'after';
  expected: Story;
}

async function killAndGoOn(t: TestContext, kill: Kill): Promise<void> {
  const { step, when } = kill;
  const scenario = SCENARIOS[step.scenario];
  const stateDir = makeScenarioDir(t, { template: kill.template, scenario });
  const answer = await killAt(t, { ...kill, stateDir });
  await assertWhole(databaseOf(stateDir));

  const gateway = await openGateway(t, stateDir);
  const runId = await playToTheEnd(gateway, scenario);
  if (answer !== undefined) assert.equal(runId, answer.runId);
  const isUnknown = step.unknownWhen?.includes(when) ?? false;
  assert.deepEqual(findLoose(databaseOf(stateDir)), []);
  await assertWhole(databaseOf(stateDir));
  assertSameStory(readStory(databaseOf(stateDir)), { ...kill, isUnknown });
  if (step.scenario === 'send') assertEdited(stateDir, isUnknown && step.unit === 'start-tool');
  const { sessions } = await gateway.client.request<{ sessions: { state: string }[] }>(
    'sessions.list',
  );
  assert.ok(sessions.every(({ state }) => state === 'idle'));
  assert.equal(
    (await scenario.ask(gateway.client)).runId,
    runId,
    'the key names the same run for good',
  );
  await gateway.close();
}

/** What a kill leaves is work to go on with, nothing to be healed. */
async function assertWhole(database: string): Promise<void> {
  const { findings } = await examineStore(database, { fix: false, clock: systemClock });
  assert.deepEqual(findings, []);
}

/** Resolves with what the caller was answered before the process was gone. */
async function killAt(
  t: TestContext,
  { step, when, stateDir }: Kill & { stateDir: string },
): Promise<{ runId?: string } | undefined> {
  const scenario = SCENARIOS[step.scenario];
  if (step.earlier !== undefined) {
    await askUntilKilled(startGatewayProcess(t, { stateDir, crash: step.earlier }), scenario);
  }
  const crash = `${step.unit}:${when}:${step.nth}`;
  const options = { stateDir, crash, ...(step.fail === undefined ? {} : { fail: step.fail }) };
  const gateway = startGatewayProcess(t, options);
  const isAtStart = step.unit === 'recover';
  const answer = isAtStart ? undefined : await askUntilKilled(gateway, scenario);
  assert.equal((await gateway.exited).signal, 'SIGKILL');
  const accepted = countAccepted(databaseOf(stateDir), KEY);
  if (step.accepts === true)
    assert.equal(accepted, when === 'before' ? 0 : 1, 'all of it or nothing');
  if (answer?.runId !== undefined) assert.equal(accepted, 1, 'what is answered is stored');
  return answer;
}

/** Resolves with the answer, or undefined when the process was gone first. */
async function askUntilKilled(
  gateway: GatewayProcess,
  scenario: Scenario,
): Promise<{ runId?: string } | undefined> {
  const client = await connectGateway({ ...(await gateway.ready), timeoutMs: PATIENCE_MS });
  const answer = await scenario.ask(client).catch(() => undefined);
  await gateway.exited;
  await client.closed;
  return answer;
}

async function playToTheEnd(gateway: OpenGateway, scenario: Scenario): Promise<string | undefined> {
  const { client } = gateway;
  const { runId } = await scenario.ask(client);
  if (scenario.outcome !== undefined) {
    const { status, reply } = await client.request('agent.wait', { runId, timeoutMs: 20_000 });
    assert.deepEqual({ status, ...(reply === undefined ? {} : { reply }) }, scenario.outcome);
  }
  await gateway.settled();
  return runId;
}

function assertSameStory(
  story: Story,
  { step, expected, isUnknown }: Kill & { isUnknown: boolean },
): void {
  const isLoose = isUnknown || SCENARIOS[step.scenario].hasLooseText === true;
  const told = (given: Story): Story => (isLoose ? withoutEmptyTexts(withoutTokens(given)) : given);
  assert.deepEqual(told(story), told(isUnknown ? withUnknownEdit(expected) : expected));
}

function withUnknownEdit(story: Story): Story {
  const [key, unknown] = [
    'agent:main:main',
    'message toolResult of edit: interrupted, outcome unknown',
  ];
  const lines = story.transcripts[key] ?? [];
  const changed = lines.map((line) => (line.includes('toolResult of edit') ? unknown : line));
  return { ...story, transcripts: { ...story.transcripts, [key]: changed } };
}

/** A run whose time was up, or that was stopped, says nothing; whether it says so depends on whether it was going. */
function withoutEmptyTexts(story: Story): Story {
  const transcripts = Object.entries(story.transcripts).map(
    ([key, lines]) => [key, lines.filter((line) => !line.endsWith(' assistant: '))] as const,
  );
  return { ...story, transcripts: Object.fromEntries(transcripts) };
}

/** A second edit would have found nothing to change and said so in the transcript. */
function assertEdited(stateDir: string, mayBeMissing: boolean): void {
  const text = readFileSync(join(stateDir, 'workspace', EDITED_FILE), 'utf8');
  assert.ok(text === 'done' || (mayBeMissing && text === 'to do'), text);
}
