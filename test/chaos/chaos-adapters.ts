/** The gateway's side of the chat services of a campaign. */
import type { ChannelAdapter, OutgoingPart, SendOutcome } from '../../src/channels/channel.ts';

/** Returns the adapters of `keyed`, which drops a repeated key, and `plain`, which does not. */
export function chaosAdapters(url: string): ChannelAdapter[] {
  const send = (channel: string, isIdempotent: boolean) => async (part: OutgoingPart) => {
    const { idempotencyKey, to, text } = part;
    const body = JSON.stringify({ channel, idempotencyKey, to, text });
    const response = await fetch(url, { method: 'POST', body }).catch(() => undefined);
    return outcomeOf(response?.status, isIdempotent);
  };
  return [
    { id: 'keyed', idempotent: true, maxPartLength: 4000, send: send('keyed', true) },
    { id: 'plain', idempotent: false, maxPartLength: 4000, send: send('plain', false) },
  ];
}

/** Where a second showing cannot be ruled out, an unclear answer is not worth another attempt. */
function outcomeOf(status: number | undefined, isIdempotent: boolean): SendOutcome {
  if (status === 200) return { status: 'sent' };
  const reason = `the chat service answered ${status ?? 'nothing'}`;
  return status === 503 || isIdempotent
    ? { status: 'retry', reason }
    : { status: 'failed', reason };
}
