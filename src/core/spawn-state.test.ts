import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ANNOUNCE_MODES } from '../protocol/words.ts';
import {
  nextSpawnStep,
  type RequesterFact,
  type SpawnFacts,
  type SpawnStep,
  type TurnFact,
} from './spawn-state.ts';

const ENDED: SpawnFacts = {
  mode: 'post',
  isSettled: false,
  task: 'ok',
  isChildOpen: true,
  hasOpenChildren: false,
  announceTurn: 'ok',
  isSilent: false,
  requester: 'session',
  hasChat: true,
  relayTurn: undefined,
};
const RELAYED = {
  turn: 'ok',
  isDelivered: true,
  hasSpoken: true,
  wasRead: true,
  isHere: true,
} as const;
const rest = (until: string) => ({ do: 'rest', until });
const settle = (chat: unknown, transcript: string) => ({ do: 'settle', chat, transcript });

const STEPS: [what: string, facts: Partial<SpawnFacts>, step: object][] = [
  ['a settled spawn has nothing left to do', { isSettled: true }, rest('nothing')],
  ['a task that goes on is waited for', { task: 'going' }, rest('task')],
  ['the child sums up first', { announceTurn: undefined }, { do: 'announce-turn' }],
  ['the announce turn is waited for', { announceTurn: 'going' }, rest('announce')],
  [
    'children come before their parent',
    { announceTurn: undefined, hasOpenChildren: true },
    rest('children'),
  ],
  [
    'a child that failed waits for no children',
    { announceTurn: undefined, task: 'failed', hasOpenChildren: true },
    settle('post', 'note'),
  ],
  ['post: chat and note', {}, settle('post', 'note')],
  ['post without a chat: the outbox says so itself', { hasChat: false }, settle('post', 'note')],
  [
    'template: no announce turn',
    { mode: 'template', announceTurn: undefined },
    settle('post', 'note'),
  ],
  [
    'silent: the transcript only, and no model call',
    { mode: 'silent', announceTurn: undefined },
    settle({ suppressedBy: 'silent' }, 'note'),
  ],
  ['relay: a turn whose reply goes out', { mode: 'relay' }, { do: 'relay-turn', deliver: true }],
  [
    'relay without a chat: no turn whose words go nowhere',
    { mode: 'relay', hasChat: false },
    settle('post', 'note'),
  ],
  [
    'a sub-agent gets a turn in mode post',
    { requester: 'subagent' },
    { do: 'relay-turn', deliver: false },
  ],
  [
    'a sub-agent gets a turn in mode template',
    { mode: 'template', requester: 'subagent' },
    { do: 'relay-turn', deliver: false },
  ],
  ['a silence word is silence', { isSilent: true }, settle('none', 'none')],
  [
    'a stopped child is kept from the chat',
    { task: 'stopped', announceTurn: undefined },
    settle({ suppressedBy: 'stopped' }, 'note'),
  ],
  [
    'so is one that was stopped while it summed up',
    { announceTurn: 'stopped' },
    settle({ suppressedBy: 'stopped' }, 'note'),
  ],
  [
    'a stopped child wakes no sub-agent',
    { task: 'stopped', requester: 'subagent' },
    settle({ suppressedBy: 'stopped' }, 'note'),
  ],
  [
    'an archived requester is told at once',
    { requester: 'archived', mode: 'relay' },
    settle('post', 'append'),
  ],
  [
    'with nobody left the chat is told',
    { requester: 'gone', mode: 'relay' },
    settle('post', 'none'),
  ],
  [
    'a child that takes no turn any more is announced as it is',
    { isChildOpen: false, announceTurn: undefined },
    settle('post', 'note'),
  ],
  ['a lost run is announced', { task: 'gone', announceTurn: undefined }, settle('post', 'note')],
  ['the relay turn is waited for', { relayTurn: { ...RELAYED, turn: 'going' } }, rest('relay')],
  ['a relay that spoke has told it', { relayTurn: RELAYED }, settle('none', 'none')],
  [
    'a relay that said nothing leaves it to the gateway',
    { relayTurn: { ...RELAYED, hasSpoken: false } },
    settle('post', 'none'),
  ],
  [
    'a relay that failed leaves it to the gateway',
    { relayTurn: { ...RELAYED, turn: 'failed' } },
    settle('post', 'none'),
  ],
  [
    'a relay that was stopped before it began leaves a note',
    { relayTurn: { ...RELAYED, turn: 'stopped', wasRead: false } },
    settle({ suppressedBy: 'stopped' }, 'note'),
  ],
  [
    'a sub-agent has no chat for what it said',
    { requester: 'subagent', relayTurn: { ...RELAYED, isDelivered: false } },
    settle('none', 'none'),
  ],
  [
    'what a sub-agent was told that is gone now is told to the next one',
    { relayTurn: { ...RELAYED, isDelivered: false, isHere: false } },
    settle('post', 'note'),
  ],
  [
    'a stop holds above the session that it was in',
    { relayTurn: { ...RELAYED, turn: 'stopped', isHere: false } },
    settle({ suppressedBy: 'stopped' }, 'note'),
  ],
  [
    'a relay that ended because its session was deleted leaves the chat',
    { requester: 'gone', relayTurn: { ...RELAYED, turn: 'stopped', isHere: false } },
    settle('post', 'none'),
  ],
];
for (const [what, facts, step] of STEPS) {
  test(`[AN10] ${what}`, () => {
    assert.deepEqual(nextSpawnStep({ ...ENDED, ...facts }), step);
  });
}

/** What happens around one spawn, in any order; everything that begins comes to an end. */
interface World {
  facts: SpawnFacts;
  openChildren: number;
  announceTurns: number;
  relayTurns: number;
  settled: Extract<SpawnStep, { do: 'settle' }>[];
}

const outcome = fc.constantFrom<TurnFact>('ok', 'failed', 'stopped');
const event = fc.oneof(
  fc.record({ type: fc.constant('task' as const), outcome }),
  fc.record({ type: fc.constant('announce' as const), outcome, isSilent: fc.boolean() }),
  fc.record({
    type: fc.constant('relay' as const),
    outcome,
    hasSpoken: fc.boolean(),
    wasRead: fc.boolean(),
  }),
  fc.record({ type: fc.constant('child settles' as const) }),
  fc.record({ type: fc.constant('child spawned' as const) }),
  fc.record({
    type: fc.constant('requester' as const),
    requester: fc.constantFrom<RequesterFact>('session', 'subagent', 'archived', 'gone'),
  }),
  fc.record({ type: fc.constant('child closes' as const) }),
  fc.record({ type: fc.constant('asked again' as const) }),
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

/** Applies an event that can happen now; returns whether the job is due after it. */
function happen(world: World, given: Event): boolean {
  const { facts } = world;
  // what happens later changes nothing that was told
  if (facts.isSettled && given.type !== 'asked again') return false;
  switch (given.type) {
    case 'task':
      if (facts.task !== 'going') return false;
      facts.task = given.outcome;
      return true;
    case 'announce':
      if (facts.announceTurn !== 'going') return false;
      facts.announceTurn = given.outcome;
      facts.isSilent = given.outcome === 'ok' && given.isSilent;
      return true;
    case 'relay':
      if (facts.relayTurn?.turn !== 'going') return false;
      facts.relayTurn = {
        ...facts.relayTurn,
        turn: given.outcome,
        hasSpoken: given.hasSpoken,
        wasRead: given.outcome === 'ok' || given.wasRead,
      };
      return true;
    case 'child settles':
      if (world.openChildren === 0) return false;
      world.openChildren -= 1;
      // the last to settle asks for its parent
      return true;
    case 'child spawned':
      if (facts.task === 'going') world.openChildren += 1;
      return false;
    case 'requester':
      if (facts.relayTurn !== undefined && given.requester !== facts.requester) {
        facts.relayTurn.isHere = false;
      }
      facts.requester = given.requester;
      return false;
    case 'child closes':
      facts.isChildOpen = false;
      return false;
    case 'asked again':
      return true;
  }
}

function ask(world: World): void {
  const { facts } = world;
  facts.hasOpenChildren = world.openChildren > 0;
  const step = nextSpawnStep(facts);
  assert.deepEqual(nextSpawnStep({ ...facts }), step, 'the same facts give the same step');
  if (step.do === 'announce-turn') {
    world.announceTurns += 1;
    facts.announceTurn = 'going';
  }
  if (step.do === 'relay-turn') {
    world.relayTurns += 1;
    const asked = { hasSpoken: false, wasRead: false, isHere: true };
    facts.relayTurn = { turn: 'going', isDelivered: step.deliver, ...asked };
  }
  if (step.do === 'settle') {
    world.settled.push(step);
    facts.isSettled = true;
  }
}

/** What goes on ends in the end, whatever came before. */
const THE_END: Event[] = [
  { type: 'task', outcome: 'ok' },
  ...Array.from({ length: 40 }, (): Event => ({ type: 'child settles' })),
  { type: 'announce', outcome: 'ok', isSilent: false },
  { type: 'relay', outcome: 'ok', hasSpoken: true, wasRead: true },
];

const course = fc.record({
  mode: fc.constantFrom(...ANNOUNCE_MODES),
  requester: fc.constantFrom<RequesterFact>('session', 'subagent', 'archived', 'gone'),
  hasChat: fc.boolean(),
  events: fc.array(event, { maxLength: 30 }),
});

function play({
  mode,
  requester,
  hasChat,
  events,
}: typeof course extends fc.Arbitrary<infer T> ? T : never): World {
  const facts: SpawnFacts = {
    ...ENDED,
    mode,
    requester,
    hasChat,
    task: 'going',
    announceTurn: undefined,
  };
  const world: World = { facts, openChildren: 0, announceTurns: 0, relayTurns: 0, settled: [] };
  for (const given of [...events, ...THE_END]) if (happen(world, given)) ask(world);
  return world;
}

test('[AN10] in every order of events a spawn is settled, once, with at most one announce turn and one relay turn', () => {
  fc.assert(
    fc.property(course, (given) => {
      const { settled, announceTurns, relayTurns } = play(given);
      assert.equal(settled.length, 1);
      assert.ok(announceTurns <= 1 && relayTurns <= 1);
    }),
    { numRuns: 2000 },
  );
});

test('[AN10] in every order of events the announce stands in a transcript, unless it is silence or nobody is left', () => {
  fc.assert(
    fc.property(course, (given) => {
      const { facts, settled } = play(given);
      const [step] = settled;
      const stands =
        step?.transcript !== 'none' ||
        (facts.relayTurn?.wasRead === true && facts.relayTurn.isHere);
      const isSilence = facts.isSilent && facts.relayTurn === undefined;
      if (stands || isSilence) return;
      assert.equal(facts.requester, 'gone');
      assert.ok(step.chat !== 'none' || facts.relayTurn?.hasSpoken === true);
    }),
    { numRuns: 2000 },
  );
});

test('[AN10] in every order of events no chat is told twice, and a stop or mode silent tells none', () => {
  fc.assert(
    fc.property(course, (given) => {
      const { facts, settled } = play(given);
      const [step] = settled;
      const { relayTurn } = facts;
      const replied = relayTurn?.turn === 'ok' && relayTurn.isDelivered && relayTurn.hasSpoken;
      if (replied) assert.equal(step?.chat, 'none');
      const isKept = given.mode === 'silent' || facts.task === 'stopped';
      if (isKept) assert.notEqual(step?.chat, 'post');
    }),
    { numRuns: 2000 },
  );
});
