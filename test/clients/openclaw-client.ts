/** A published `@openclaw/gateway-client`, connected, with what it was told. */
import type { TestContext } from 'node:test';

export type Json = Record<string, unknown>;
export interface OpenClawEvent {
  event: string;
  payload: Json;
  seq: number;
  stateVersion?: Json;
}
/** What of the client is used here; its own types need it installed. */
export interface OpenClawClient {
  start(): void;
  stopAndWait(): Promise<void>;
  request(method: string, params: object, options?: { expectFinal?: boolean }): Promise<unknown>;
}

// a name that the compiler does not look for: the package is installed beside these tests alone
const PACKAGE: string = '@openclaw/gateway-client';
const { GatewayClient } = (await import(PACKAGE)) as {
  GatewayClient: new (options: Json) => OpenClawClient;
};

/** Connects, with protocol 4 where `options` name no other, and resolves once it is through. */
export async function connectOpenClaw(
  t: TestContext,
  { at, ...options }: { at: { port: number; token: string }; [option: string]: unknown },
) {
  const events: OpenClawEvent[] = [];
  const hellos: Json[] = [];
  const wakes = new Set<() => void>();
  let gaps = 0;
  const tell = (): void => wakes.forEach((wake) => wake());
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => wakes.add(resolve));
  };
  const client = new GatewayClient({
    url: `ws://127.0.0.1:${at.port}`,
    token: at.token,
    minProtocol: 4,
    maxProtocol: 4,
    ...options,
    onHelloOk: (hello: Json) => {
      hellos.push(hello);
      tell();
    },
    onEvent: (event: OpenClawEvent) => {
      events.push(event);
      tell();
    },
    onGap: () => (gaps += 1),
  });
  client.start();
  t.after(() => client.stopAndWait());
  await until(() => hellos.length === 1);
  const request = async (
    method: string,
    params: object = {},
    asked?: { expectFinal?: boolean },
  ): Promise<Json> => (await client.request(method, params, asked)) as Json;
  return { client, request, events, hellos, until, gaps: () => gaps };
}
