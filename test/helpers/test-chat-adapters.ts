/** The gateway's side of the test chat: `keyed` drops repeated keys, `readable` can be looked at, `plain` neither. */
import type {
  ChannelAdapter,
  InboundMessage,
  OutgoingPart,
  ReadBack,
  SendOutcome,
} from '../../src/channels/channel.ts';

export const TEST_CHANNELS = ['keyed', 'readable', 'plain'] as const;
export type TestChannel = (typeof TEST_CHANNELS)[number];

export interface TestChannelOptions {
  callLimitMs?: number;
  maxPartLength?: number;
  idempotencyWindowMs?: number;
}

/** Returns the adapters of a test chat at this address. */
export function testChatAdapters(url: string, options: TestChannelOptions = {}): ChannelAdapter[] {
  const { callLimitMs = 5000, maxPartLength = 4000, idempotencyWindowMs } = options;
  return TEST_CHANNELS.map((id) => ({
    id,
    idempotent: id === 'keyed',
    ...(idempotencyWindowMs === undefined ? {} : { idempotencyWindowMs }),
    maxPartLength,
    callLimitMs,
    send: (part, signal) => send(url, { id, part, signal }),
    ...(id === 'readable'
      ? { readBack: (part, signal) => readBack(url, { id, part, signal }) }
      : {}),
  }));
}

interface Call {
  id: TestChannel;
  part: OutgoingPart;
  signal: AbortSignal;
}

/** Rejects when the chat does not answer or says something it does not explain: nobody knows then. */
async function send(url: string, { id: channel, part, signal }: Call): Promise<SendOutcome> {
  const body = JSON.stringify({ channel, ...part });
  const response = await fetch(`${url}/send`, { method: 'POST', body, signal });
  if (response.ok) return { status: 'sent', ...((await response.json()) as { messageId: string }) };
  const reason = `the chat answered ${response.status}`;
  if (response.status === 503) return { status: 'retry', reason };
  if (response.status === 400) return { status: 'failed', reason };
  throw new Error(reason);
}

async function readBack(url: string, { id: channel, part, signal }: Call): Promise<ReadBack> {
  const body = JSON.stringify({ channel, ...part });
  const response = await fetch(`${url}/look`, { method: 'POST', body, signal });
  if (!response.ok) throw new Error(`the chat answered ${response.status} to a look`);
  return ((await response.json()) as { found: ReadBack }).found;
}

/** Hands in what people wrote in this channel, all of it at each start: the chat offers it until it is told otherwise. */
export function withInbox(adapter: ChannelAdapter, url: string): ChannelAdapter {
  return {
    ...adapter,
    start: async (receive) => {
      const response = await fetch(`${url}/inbox`, { method: 'POST', body: '{}' });
      const inbox = (await response.json()) as { channel: string; message: InboundMessage }[];
      for (const { channel, message } of inbox) {
        if (channel === adapter.id) await receive(message);
      }
    },
  };
}
