/**
 * The model of a campaign, as a process of its own: slow, now and then failing, with a ledger.
 * `node test/chaos/chaos-model.ts --ledger FILE --seed S`.
 */
import { parseArgs } from 'node:util';
import { textOf, type Message } from '../../src/protocol/message.ts';
import { startFakeModel, type Failure, type HandledRequest } from '../helpers/fake-model.ts';
import { dieWithParent, tellReady } from './child-program.ts';
import { type ModelEntry, writeLedger } from './ledger.ts';
import { marksIn, ownMark } from './marks.ts';
import { randomOf } from './random.ts';

const { values } = parseArgs({ options: { ledger: { type: 'string' }, seed: { type: 'string' } } });
const ledger = String(values.ledger);
const seed = Number(values.seed);
const asked = new Map<string, number>();

dieWithParent();
const fake = await startFakeModel({
  rewrite: (userText) => stepScript(userText),
  disturb: (userText) => troubleFor(userText),
  onHandled: (handled) => {
    writeLedger(ledger, toEntry(handled));
    fake.requests.length = 0;
  },
});
tellReady({ url: fake.url });

/** The gateway's own turns have no script; they answer with the marks of what they are about. */
function stepScript(userText: string): string | undefined {
  const [mark = ''] = marksIn(userText);
  const random = randomOf(seed, userText);
  if (/agent-to-agent announce step/i.test(userText)) return `SAY: announced ${mark}`;
  const turn = /agent-to-agent reply step: turn (\d+)/i.exec(userText)?.[1];
  if (turn !== undefined) {
    return random.chance(0.3) ? 'SAY: REPLY_SKIP' : `SAY: turn ${turn} of ${mark}`;
  }
  if (/^\s*\[announce step:/i.test(userText)) {
    return random.chance(0.15) ? 'SAY: ANNOUNCE_SKIP' : `SAY: result of ${mark}`;
  }
  return undefined;
}

/** Slow for some, failing for fewer; a request that is made again may fare otherwise. */
function troubleFor(userText: string): { delayMs: number; failure?: Failure } {
  const nth = (asked.get(userText) ?? 0) + 1;
  asked.set(userText, nth);
  const random = randomOf(seed, `${nth} ${userText}`);
  const delayMs = random.chance(0.12) ? random.between(150, 600) : random.between(0, 50);
  if (random.chance(0.04)) return { delayMs, failure: { kind: 'status', status: 503 } };
  if (random.chance(0.02)) return { delayMs, failure: { kind: 'drop' } };
  return { delayMs };
}

function toEntry({ messages, answer }: HandledRequest): ModelEntry {
  const users = messages.filter(({ role }) => role === 'user').map(textOf);
  const own = users.flatMap((text) => ownMark(withoutPrefix(text)) ?? []);
  return {
    marks: marksIn(textOf(messages.findLast(isUser) ?? messages[0]!)),
    doubled: own.filter((mark, at) => own.indexOf(mark) !== at),
    answer: answer.kind,
    ...(answer.kind === 'answer' ? { text: answer.text } : {}),
  };
}

/** A routed message has a line of context in front. */
function withoutPrefix(text: string): string {
  return text.replace(/^\s*\[[^\n]*\]\n/, '');
}

function isUser({ role }: Message): boolean {
  return role === 'user';
}
