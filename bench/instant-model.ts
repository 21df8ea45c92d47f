/** A model endpoint on loopback (OpenAI chat completions, streaming) that answers at once, always the same. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface InstantModel {
  baseUrl: string;
  close(): Promise<void>;
}

/** Starts the endpoint on a free port. */
export async function startInstantModel(): Promise<InstantModel> {
  const answer = [
    chunk({
      choices: [{ index: 0, delta: { role: 'assistant', content: 'done' }, finish_reason: null }],
    }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    chunk({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101 } }),
    'data: [DONE]\n\n',
  ].join('');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function chunk(content: object): string {
  const frame = {
    id: 'bench',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'instant',
    ...content,
  };
  return `data: ${JSON.stringify(frame)}\n\n`;
}
