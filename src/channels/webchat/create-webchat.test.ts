import { channelContract } from '../channel.suite.ts';
import { createWebchat } from './create-webchat.ts';

channelContract('webchat', () => {
  // As a client keeps them: an event that comes again has the name of the first.
  const events = new Map<string, { to: string | null; text: string }>();
  const channel = createWebchat(({ idempotencyKey, to, text }) => {
    if (!events.has(idempotencyKey)) events.set(idempotencyKey, { to, text });
  });
  const shown = (to: string): string[] =>
    [...events.values()].filter((event) => event.to === to).map(({ text }) => text);
  return { channel, shown };
});
