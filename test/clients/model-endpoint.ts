/**
 * A model for harnesses, on loopback, in the four dialects that they speak. It does what the lines of the
 * prompt say, one a request:
 *
 *   CALL tool {json}   call the offered tool whose name ends like this
 *   REPLY text         answer
 *
 * `$name` in either stands for the last value of that name in the results so far.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { DIALECTS, type ModelAnswer, type ModelRequest } from './dialects.ts';

export interface ModelEndpoint {
  url: string;
  /** what came in, for the message of a failing test */
  log: string[];
  close(): Promise<void>;
}

/** Starts the model and resolves once it answers. */
export async function startModelEndpoint(): Promise<ModelEndpoint> {
  const log: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await readText(request);
      const { url: path = '', method = '' } = request;
      const dialect = DIALECTS.find((candidate) => candidate.path.test(path));
      if (dialect === undefined || method !== 'POST') {
        log.push(`${method} ${path}: not known here`);
        response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
        return;
      }
      const parsed = JSON.parse(body) as Record<string, unknown>;
      const asked = dialect.read(parsed);
      const answer = answerTo(asked);
      log.push(
        `${dialect.name}: ${asked.tools.length} tools, ${asked.results.length} results, answered ${JSON.stringify(answer)}; last result ${asked.results.at(-1)?.slice(0, 500)}`,
      );
      const written = dialect.write(answer, { path, body: parsed });
      response.writeHead(200, { 'content-type': written.type }).end(written.body);
    })().catch((error: unknown) => {
      log.push(String(error));
      response.writeHead(500).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const LINE = /^\s*(?:CALL (?<tool>\S+) (?<args>\{.*\})|REPLY (?<text>.*))\s*$/gm;

function answerTo({ texts, results, tools }: ModelRequest): ModelAnswer {
  const script = texts.findLast((text) => text.search(LINE) >= 0) ?? '';
  const steps = [...script.matchAll(LINE)].map(({ groups = {} }) => groups);
  const step = steps[results.length] ?? steps.at(-1);
  // a title, a summary: whatever else a harness asks a model for
  if (step === undefined || tools.length === 0) return { text: 'nothing to say' };
  if (step['text'] !== undefined) return { text: filled(step['text'], results) };
  const tool = step['tool'] ?? '';
  const name = tools.find((offered) => offered.endsWith(tool));
  if (name === undefined) return { text: `no tool ${tool} among ${tools.join(' ')}` };
  return { text: '', call: { name, args: JSON.parse(filled(step['args'] ?? '{}', results)) } };
}

function filled(text: string, results: readonly string[]): string {
  return text.replaceAll(/\$(\w+)/g, (whole, name: string) => {
    const value = new RegExp(String.raw`\\?"${name}\\?":\s*\\?"([^"\\]*)`, 'g');
    return [...results.join('\n').matchAll(value)].at(-1)?.[1] ?? whole;
  });
}
