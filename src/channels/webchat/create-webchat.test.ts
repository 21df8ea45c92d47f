import { channelContract } from '../channel.suite.ts';
import { createWebchat } from './create-webchat.ts';

channelContract('webchat', () => {
  const events: { to: string | null; text: string }[] = [];
  const channel = createWebchat(({ to, text }) => events.push({ to, text }));
  const shown = (to: string): string[] =>
    events.filter((event) => event.to === to).map(({ text }) => text);
  return { channel, shown };
});
