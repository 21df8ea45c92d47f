/** Who is told what: one subscription to the run events, fanned out to the connections. */
import { CLIENT_CAPS } from '../protocol/frames.ts';
import type { ProtocolVersion } from '../protocol/versions.ts';
import type { PlainPayloads } from '../protocol/events.ts';
import type { RunEvent, RunEvents } from '../service/run-events.ts';
import type { Clock } from '../util/clock.ts';
import {
  encodeAgentDelta,
  encodeAgentText,
  encodeChatDelta,
  encodeChatEnd,
  encodeChatText,
  encodeEnd,
  encodeStart,
  encodeTool,
} from './encode-events.ts';
import type { AgentBody, ChatBody } from './encode-events.ts';
import { createTextPacer } from './pace-text.ts';
import { createRunText } from './run-text.ts';
import type { RunText } from './run-text.ts';
import type { RunViews } from './run-views.ts';

/** A connected client with `operator.read`. */
export interface Watcher {
  protocol: ProtocolVersion;
  caps: ReadonlySet<string>;
  views: RunViews;
  /** wants `sessions.changed`, as everybody does who has not said otherwise */
  hearsSessions: boolean;
  /** Contract: never throws and never waits; a slow reader is cut off inside. */
  sendEvent(event: 'agent' | 'chat' | 'sessions.changed', payloadJson: string): void;
}
export interface Subscriptions {
  add(watcher: Watcher): void;
  remove(watcher: Watcher): void;
  close(): void;
}
type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

/** Runs whose stream is followed at one time; beyond it the oldest is forgotten and starts over. */
const MAX_STREAMS = 10_000;

/** Subscribes once and encodes each event once per form, however many connections there are. */
export function createSubscriptions(events: RunEvents, clock: Clock): Subscriptions {
  const watchers = new Set<Watcher>();
  const texts = new Map<string, RunText>();
  const pacer = createTextPacer((piece) => tellText(piece, clock.now()));
  const unsubscribe = events.subscribe((event) => route(event));

  function route(event: RunEvent): void {
    const now = clock.now();
    switch (event.type) {
      case 'started':
        return tellAgent(encodeStart(event, now), watchers);
      case 'delta':
        return pacer.add(event);
      case 'tool':
        pacer.flush(event.runId);
        return tellAgent(encodeTool(event, now), withCap(watchers, CLIENT_CAPS.toolEvents));
      case 'ended':
        pacer.end(event.runId);
        return tellEnd(event, now);
      case 'chat_delivery':
      case 'chat_note':
        return tellChat(encodeChatText(event, now), watchers);
      case 'session_changed':
        return tellChanged({ sessionKey: event.sessionKey, ts: now }, watchers);
      default: // devices: device-events.ts tells others than those who watch runs
    }
  }

  function tellText(event: EventOf<'delta'>, now: number): void {
    const step = textOf(texts, event.runId).advance(event);
    if (step === undefined) return;
    const chat = oncePerForm((view) => encodeChatDelta(event, { step, view, now }));
    const agent = oncePerForm((view) => encodeAgentDelta(event, { step, view, now }));
    for (const watcher of watchers) {
      const { protocol } = watcher;
      const view = watcher.views.of(event.runId);
      if (wantsAgentText(watcher, event.runId)) {
        const json = agent({ protocol, isFirst: !view.hasAgentText });
        if (json !== undefined) sendAgent(watcher, event.runId, json);
        view.hasAgentText ||= json !== undefined;
      }
      if (wantsChatText(watcher, event.runId)) {
        const json = chat({ protocol, isFirst: !view.hasChatText });
        if (json !== undefined) sendChat(watcher, event.runId, json);
        view.hasChatText ||= json !== undefined;
      }
    }
  }

  function tellEnd(event: EventOf<'ended'>, now: number): void {
    const { runId } = event;
    const rest = textOf(texts, runId).finish(event.reply);
    texts.delete(runId);
    for (const watcher of watchers) {
      if (!wantsAgentText(watcher, runId)) continue;
      const { hasAgentText } = watcher.views.of(runId);
      if (event.reply === '' && (event.state !== 'ok' || !hasAgentText)) continue;
      const sent = watcher.protocol === 3 ? rest.snapshotDelta : rest.delta;
      const delta = hasAgentText ? sent : event.reply;
      const replace = hasAgentText && rest.replace;
      sendAgent(watcher, runId, JSON.stringify(encodeAgentText(event, { delta, replace, now })));
    }
    tellAgent(encodeEnd(event, now), watchers);
    const chat = oncePerForm(({ protocol }) => encodeChatEnd(event, protocol));
    for (const watcher of watchers) {
      const json = chat({ protocol: watcher.protocol, isFirst: false });
      if (json !== undefined && wantsChatText(watcher, runId)) sendChat(watcher, runId, json);
      // the delivery's `chat` event goes on counting
      if (!event.delivered) watcher.views.drop(runId);
    }
  }

  return {
    add: (watcher) => void watchers.add(watcher),
    remove: (watcher) => void watchers.delete(watcher),
    close: () => {
      unsubscribe();
      pacer.close();
    },
  };
}

function tellChanged(
  changed: PlainPayloads['sessions.changed'],
  watchers: Iterable<Watcher>,
): void {
  const json = JSON.stringify(changed);
  for (const watcher of watchers)
    if (watcher.hearsSessions) watcher.sendEvent('sessions.changed', json);
}

function wantsAgentText(watcher: Watcher, runId: string): boolean {
  return watcher.caps.has(CLIENT_CAPS.agentText) || watcher.views.of(runId).isStarter;
}

function wantsChatText(watcher: Watcher, runId: string): boolean {
  return watcher.caps.has(CLIENT_CAPS.agentText) || !watcher.views.of(runId).isStarter;
}

function withCap(watchers: Iterable<Watcher>, cap: string): Watcher[] {
  return [...watchers].filter((watcher) => watcher.caps.has(cap));
}

function tellAgent(body: AgentBody, watchers: Iterable<Watcher>): void {
  const json = JSON.stringify(body);
  for (const watcher of watchers) sendAgent(watcher, body.runId, json);
}

function tellChat(body: ChatBody, watchers: Iterable<Watcher>): void {
  const json = JSON.stringify(body);
  for (const watcher of watchers) sendChat(watcher, body.runId, json);
}

function sendAgent(watcher: Watcher, runId: string, json: string): void {
  const view = watcher.views.of(runId);
  view.agentSeq += 1;
  watcher.sendEvent('agent', withSeq(json, view.agentSeq));
}

function sendChat(watcher: Watcher, runId: string, json: string): void {
  const view = watcher.views.of(runId);
  view.chatSeq += 1;
  watcher.sendEvent('chat', withSeq(json, view.chatSeq));
}

/** The payload is the same for all, its number is not: it is put in front of the encoded rest. */
function withSeq(json: string, seq: number): string {
  return `{"seq":${seq},${json.slice(1)}`;
}

interface Form {
  protocol: ProtocolVersion;
  isFirst: boolean;
}
function oncePerForm(
  encode: (form: Form) => object | undefined,
): (form: Form) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (form) => {
    const key = `${form.protocol} ${form.isFirst}`;
    if (!known.has(key)) {
      const body = encode(form);
      known.set(key, body === undefined ? undefined : JSON.stringify(body));
    }
    return known.get(key);
  };
}

function textOf(texts: Map<string, RunText>, runId: string): RunText {
  const known = texts.get(runId);
  if (known !== undefined) return known;
  const text = createRunText();
  texts.set(runId, text);
  const oldest = texts.keys().next().value;
  if (texts.size > MAX_STREAMS && oldest !== undefined) texts.delete(oldest);
  return text;
}
