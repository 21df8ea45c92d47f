import { randomUUID } from 'node:crypto';
import { isRecord } from '../output/json-value.ts';
import type { RunNews } from './event-log.ts';
import type { TourGateway } from './tour-gateway.ts';
import type { TourPrinter } from './tour-printer.ts';
import { isAnnounce } from './tour-steps.ts';
import type { TourStep } from './tour-steps.ts';

const MAIN = 'agent:main:main';
/** Each step takes milliseconds; this is for a machine that does something else at the moment. */
const STEP_TIMEOUT_MS = 30_000;

/** Says the person's words to main, shows what main does, and returns whether it came out right. */
export async function playStep(
  { client, events }: TourGateway,
  { step, number, print }: { step: TourStep; number: number; print: TourPrinter },
): Promise<boolean> {
  const { ask, tool, args, answer } = step;
  const script = `TOOL: ${tool} ${JSON.stringify(args)}\nSAY: ${answer}`;
  print.step(number, step.title);
  print.person(ask, script);
  const { runId } = await client.call('chat.send', {
    sessionKey: MAIN,
    message: `${ask}\n${script}`,
    idempotencyKey: randomUUID(),
  });
  const call = await events.first(
    (news) => toolNews(news, { runId, phase: 'start' }),
    STEP_TIMEOUT_MS,
  );
  if (call === undefined) return print.failed(`main did not call ${tool}`);
  print.call(call.name, call.args);
  const done = await events.first(
    (news) => toolNews(news, { runId, phase: 'end' }),
    STEP_TIMEOUT_MS,
  );
  if (done === undefined) return print.failed(`${tool} did not answer`);
  print.result(done.result);
  const reply = await events.first((news) => finalText(news, runId), STEP_TIMEOUT_MS);
  if (reply === undefined) return print.failed('main did not finish its turn');
  print.agent('main', reply);
  const isDone = isRecord(done.result) && step.isDone(done.result);
  return isDone ? print.held(step.holds) : print.failed(`this is not what ${tool} should answer`);
}

/** Waits until the sub-agent's result stands in the person's chat. */
export async function waitForAnnounce(
  { events }: TourGateway,
  { number, print }: { number: number; print: TourPrinter },
): Promise<boolean> {
  print.step(number, "the sub-agent's result is announced to the chat");
  const text = await events.first(announcedText, STEP_TIMEOUT_MS);
  if (text === undefined) return print.failed('no announce arrived');
  print.agent('webchat', text);
  return print.held('announced; the status line comes from the gateway, not from the agent');
}

function toolNews(
  news: RunNews,
  { runId, phase }: { runId: string; phase: 'start' | 'end' },
): { name: string; args?: unknown; result?: unknown } | undefined {
  if (news.event !== 'agent' || news.payload.runId !== runId) return undefined;
  const { payload } = news;
  return payload.stream === 'tool' && payload.data.phase === phase ? payload.data : undefined;
}

/** The text that closes a run for the chat; empty when the run ended otherwise. */
function finalText(news: RunNews, runId: string): string | undefined {
  if (news.event !== 'chat' || news.payload.runId !== runId) return undefined;
  const { payload } = news;
  if (payload.state === 'delta') return undefined;
  return payload.state === 'final' ? textOf(payload.message) : '';
}

function announcedText(news: RunNews): string | undefined {
  if (news.event !== 'chat' || news.payload.state !== 'final') return undefined;
  const text = textOf(news.payload.message);
  return news.payload.sessionKey === MAIN && isAnnounce(text) ? text : undefined;
}

function textOf(message: { content: { text: string }[] } | undefined): string {
  return (message?.content ?? []).map((block) => block.text).join('\n');
}
