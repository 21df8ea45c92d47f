import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DELIVERY_STATES } from '../protocol/words.ts';
import {
  ATTEMPT_DELAYS_MS,
  type ChannelTraits,
  type DeliveryCourse,
  type DeliveryEvent,
  deliveryStep,
  nextDelivery,
} from './delivery-state.ts';

const NEW: DeliveryCourse = {
  state: 'queued',
  attempts: 0,
  handovers: 0,
  sendingAt: null,
  unclearSince: null,
  nextAttemptAt: 0,
  reason: null,
  messageId: null,
  sentAt: null,
};
const PLAIN: ChannelTraits = {
  idempotent: false,
  idempotencyWindowMs: undefined,
  canReadBack: false,
  callLimitMs: 60_000,
};
const KEYED: ChannelTraits = { ...PLAIN, idempotent: true };
const READABLE: ChannelTraits = { ...PLAIN, canReadBack: true };
const FINAL = new Set(['sent', 'suppressed', 'dropped']);

const traitsOf = fc.record({
  idempotent: fc.boolean(),
  idempotencyWindowMs: fc.constantFrom(undefined, 70_000, 400_000),
  canReadBack: fc.boolean(),
  callLimitMs: fc.constantFrom(1000, 60_000),
});

/** What a chat does with a part, and what its gateway lives to hear of it. */
const HAPPENINGS = [
  'shown',
  'refused',
  'failed',
  'shown, answer lost',
  'not shown, answer lost',
  'killed before the call',
  'killed after it was shown',
  'killed, and not shown',
] as const;
const turn = fc.record({
  happens: fc.constantFrom(...HAPPENINGS),
  look: fc.constantFrom('works' as const, 'fails' as const, 'cannot say' as const),
  passesMs: fc.constantFrom(0, 1000, 5000, 50_000, 4_000_000),
  desk: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    undefined,
    'retry' as const,
    'drop' as const,
  ),
});
interface Turn {
  happens: (typeof HAPPENINGS)[number];
  look: 'works' | 'fails' | 'cannot say';
  passesMs: number;
  desk: 'retry' | 'drop' | undefined;
}

/** A gateway and a chat that keeps its promises: plays one turn after another on one part. */
class World {
  course: DeliveryCourse = NEW;
  now = 1;
  /** when the chat was given the text so that it stood there */
  readonly shownAt: number[] = [];
  /** hand-overs that the desk asked for beyond the first showing */
  risks = 0;
  readonly path: string[] = ['queued'];
  readonly traits: ChannelTraits;
  constructor(traits: ChannelTraits) {
    this.traits = traits;
  }

  move(event: DeliveryEvent): void {
    const next = nextDelivery(this.course, event, this);
    assert.ok(next !== undefined, `${this.course.state} cannot ${event.type}`);
    this.course = next;
    this.path.push(next.state);
  }

  play({ happens, look, passesMs, desk }: Turn): void {
    this.now += passesMs;
    if (desk !== undefined) this.#desk(desk);
    // A new start, or the job that is due.
    if (this.course.state === 'sending') this.move({ type: 'interrupted' });
    const step = deliveryStep(this.course, this);
    if (step === 'hand_over') this.#handOver(happens);
    if (step === 'give_up') this.move({ type: 'give_up' });
    if (step === 'read_back') this.#lookAt(look);
  }

  #desk(type: 'retry' | 'drop'): void {
    const next = nextDelivery(this.course, { type }, this);
    if (next === undefined) return;
    if (type === 'retry' && this.course.state === 'unknown') this.risks += 1;
    this.course = next;
    this.path.push(next.state);
  }

  #handOver(happens: Turn['happens']): void {
    this.move({ type: 'begin' });
    if (happens.includes('shown') && !happens.includes('not shown')) this.#show();
    if (happens === 'shown') this.move({ type: 'sent', messageId: 'm1' });
    if (happens === 'refused') this.move({ type: 'refused', reason: '503' });
    if (happens === 'failed') this.move({ type: 'failed', reason: '400' });
    if (happens.endsWith('answer lost')) this.move({ type: 'unclear', reason: 'no answer' });
  }

  #show(): void {
    const { idempotent, idempotencyWindowMs = Infinity } = this.traits;
    const first = this.shownAt.at(-1);
    const isKnown = idempotent && first !== undefined && this.now - first < idempotencyWindowMs;
    if (!isKnown) this.shownAt.push(this.now);
  }

  #lookAt(look: Turn['look']): void {
    if (look === 'fails') return this.move({ type: 'look_failed', reason: 'no answer' });
    if (look === 'cannot say') return this.move({ type: 'not_told' });
    this.move({ type: this.shownAt.length > 0 ? 'found' : 'not_found' });
  }
}

const play = (traits: ChannelTraits, turns: readonly Turn[]): World => {
  const world = new World(traits);
  for (const each of turns) world.play(each);
  return world;
};

describe('the life of a delivery', () => {
  const turns = fc.array(turn, { maxLength: 30 });

  it('[DL2] is shown once at most, whatever is lost and whenever the gateway dies, unless the desk asks again', () => {
    fc.assert(
      fc.property(traitsOf, turns, (traits, given) => {
        const { shownAt, risks, path } = play(traits, given);
        assert.ok(shownAt.length <= 1 + risks, path.join(' → '));
      }),
      { numRuns: 5000 },
    );
  });

  it('[DL2] is `sent` only when it was shown, and `failed` only when it was not', () => {
    fc.assert(
      fc.property(traitsOf, turns, (traits, given) => {
        const { course, shownAt, risks, path } = play(traits, given);
        if (course.state === 'sent') assert.ok(shownAt.length > 0, path.join(' → '));
        if (course.state === 'failed' && risks === 0)
          assert.equal(shownAt.length, 0, path.join(' → '));
      }),
      { numRuns: 2000 },
    );
  });

  it('[DL3] never leaves a terminal state, and leaves failed and unknown at the desk alone', () => {
    fc.assert(
      fc.property(traitsOf, turns, (traits, given) => {
        const { path } = play(
          traits,
          given.map((each) => ({ ...each, desk: undefined })),
        );
        const over = path.findIndex((state) => FINAL.has(state) || /failed|unknown/.test(state));
        assert.ok(over === -1 || over === path.length - 1, path.join(' → '));
      }),
      { numRuns: 2000 },
    );
    for (const state of DELIVERY_STATES.filter((each) => FINAL.has(each))) {
      for (const event of EVERY_EVENT) {
        const course = { ...NEW, state, unclearSince: 1 };
        assert.equal(nextDelivery(course, event, { now: 9, traits: KEYED }), undefined, event.type);
      }
    }
  });

  it('[DL3] comes to an end: each open state has a way on, and the attempts are counted', () => {
    fc.assert(
      fc.property(traitsOf, fc.array(turn, { minLength: 40, maxLength: 40 }), (traits, given) => {
        const patient = given.map((each) => ({ ...each, desk: undefined, passesMs: 4_000_000 }));
        const { course, path } = play(traits, patient);
        assert.ok(!['queued', 'sending'].includes(course.state), path.join(' → '));
        assert.ok(course.attempts <= 7);
      }),
      { numRuns: 1000 },
    );
  });

  it('[DL4] is tried again after 1 s, 5 s, 30 s, 2 min, 10 min and 1 h, and then has failed', () => {
    let course = NEW;
    let now = 0;
    const waits: number[] = [];
    while (course.state === 'queued') {
      waits.push(course.nextAttemptAt - now);
      now = course.nextAttemptAt;
      const early = { now: now - 1, traits: PLAIN };
      if (now > 0) assert.equal(deliveryStep(course, early), 'wait');
      const begun = nextDelivery(course, { type: 'begin' }, { now, traits: PLAIN });
      course = nextDelivery(begun!, { type: 'refused', reason: '503' }, { now, traits: PLAIN })!;
    }
    assert.deepEqual(waits, [0, 1000, 5000, 30_000, 120_000, 600_000, 3_600_000]);
    assert.deepEqual(waits.slice(1), ATTEMPT_DELAYS_MS);
    assert.deepEqual(
      [course.state, course.attempts, course.reason],
      ['failed', 7, '503; given up after 7 attempts'],
    );
  });

  it('[DL2, DL4] when the attempts are used up and one of them was unclear, it is unknown and not failed', () => {
    let course = NEW;
    for (let now = 0; course.state === 'queued'; now = course.nextAttemptAt) {
      const begun = nextDelivery(course, { type: 'begin' }, { now, traits: KEYED })!;
      const how = course.attempts === 2 ? 'unclear' : 'refused';
      course = nextDelivery(begun, { type: how, reason: 'r' }, { now, traits: KEYED })!;
    }
    assert.deepEqual([course.state, course.attempts], ['unknown', 7]);
  });

  it('[DL3] looks that fail are counted as attempts, so that they come to an end', () => {
    const at = { now: 2000, traits: READABLE };
    let course = nextDelivery(handed(READABLE), { type: 'interrupted' }, at)!;
    const waits: number[] = [];
    while (course.state === 'queued') {
      waits.push(course.nextAttemptAt - at.now);
      at.now = course.nextAttemptAt;
      course = nextDelivery(course, { type: 'look_failed', reason: '500' }, at)!;
    }
    assert.deepEqual(waits, [0, ...ATTEMPT_DELAYS_MS.slice(1)]);
    assert.deepEqual([course.state, course.handovers], ['unknown', 1]);
  });

  const handed = (traits: ChannelTraits) =>
    nextDelivery(NEW, { type: 'begin' }, { now: 1000, traits })!;

  it('[DL5] found in `sending` after a crash: again where the channel drops repeats, else a look, else unknown', () => {
    const windowed = { ...KEYED, idempotencyWindowMs: 100_000 };
    const cases: [ChannelTraits, now: number, state: string, step: string][] = [
      [KEYED, 9_000_000, 'queued', 'hand_over'],
      [windowed, 40_999, 'queued', 'hand_over'],
      // the call could end after the window
      [windowed, 41_000, 'queued', 'give_up'],
      [{ ...windowed, canReadBack: true }, 41_000, 'queued', 'read_back'],
      [READABLE, 2000, 'queued', 'read_back'],
      [PLAIN, 2000, 'unknown', 'nothing'],
    ];
    for (const [traits, now, state, step] of cases) {
      const at = { now, traits };
      const found = nextDelivery(handed(traits), { type: 'interrupted' }, at)!;
      assert.equal(found.state, state);
      assert.equal(deliveryStep(found, at), step);
    }
  });

  it('[DL5] a look that finds nothing lets it be handed over again, one that cannot say does not', () => {
    const at = { now: 2000, traits: READABLE };
    const found = nextDelivery(handed(READABLE), { type: 'interrupted' }, at)!;
    assert.equal(nextDelivery(found, { type: 'begin' }, at), undefined);
    assert.equal(deliveryStep(nextDelivery(found, { type: 'not_found' }, at)!, at), 'hand_over');
    assert.equal(nextDelivery(found, { type: 'found' }, at)?.state, 'sent');
    assert.equal(nextDelivery(found, { type: 'not_told' }, at)?.state, 'unknown');
  });

  it('[DL6] the desk may queue again what has failed or is unknown, and drop what is not under way', () => {
    const at = { now: 5000, traits: PLAIN };
    const may = (type: 'retry' | 'drop') =>
      DELIVERY_STATES.filter(
        (state) => nextDelivery({ ...NEW, state }, { type }, at) !== undefined,
      );
    assert.deepEqual(may('retry'), ['queued', 'failed', 'unknown']);
    assert.deepEqual(may('drop'), ['queued', 'failed', 'unknown']);
    const waiting = { ...NEW, attempts: 2, nextAttemptAt: 9000, unclearSince: 3, handovers: 2 };
    const soon = nextDelivery(waiting, { type: 'retry' }, at);
    assert.deepEqual(soon, { ...waiting, nextAttemptAt: 5000 });
  });
});

const EVERY_EVENT: DeliveryEvent[] = [
  ...(['begin', 'sent', 'interrupted', 'found', 'not_found', 'not_told'] as const).map((type) => ({
    type,
  })),
  ...(['give_up', 'retry', 'drop'] as const).map((type) => ({ type })),
  ...(['refused', 'failed', 'unclear', 'look_failed', 'hold'] as const).map((type) => ({
    type,
    reason: 'r',
  })),
];
