import type { GatewayClient } from '../src/client/gateway-client.ts';
import type { Services } from '../src/service/services.ts';
import { ACCEPTANCE_TOKEN, createAcceptanceServices } from './acceptance-services.ts';
import { type BareLoop, openBareLoop } from './bare-loop.ts';
import { CALLER_KEY, createBenchState, groupKey, seedSessions } from './bench-state.ts';
import { startProcess } from './gateway-program.ts';
import { type Spread, spreadOf } from './statistics.ts';

/** Figure 5: messages accepted per second for callers that send all the time and do not wait for replies. */
export interface AcceptanceFigures {
  callers: number;
  /** at the send service, in one process */
  servicePerSecond: Spread;
  /** a loop that inserts the same rows, a group of 32 to a transaction */
  bareLoopPerSecond: Spread;
  /** service over bare loop, of rounds that alternate */
  ratio: Spread;
  /** one connection per caller, gateway and callers in two processes */
  webSocketPerSecond: Spread;
}

const CALLERS = 32;
/** with the first one as many as the queue of a session takes: 12 × 40 messages, cap 500 */
const ROUNDS = 11;
const SENDS_PER_CALLER = 40;
const WEB_SOCKET_SENDS = 40;
const WEB_SOCKET_ROUNDS = 5;

type Send = (caller: number) => Promise<{ status: string }>;

/** Accepts and inserts in turn, then accepts through the WebSocket. */
export async function measureAcceptance(): Promise<AcceptanceFigures> {
  return { callers: CALLERS, ...(await measureService()), ...(await measureWebSocket()) };
}

async function measureService(): Promise<
  Omit<AcceptanceFigures, 'callers' | 'webSocketPerSecond'>
> {
  const accepting = createBenchState();
  const bare = createBenchState();
  const store = accepting.openStore();
  await bare.openStore().close();
  const loop = openBareLoop({ from: accepting.path, to: bare.path, group: CALLERS });
  try {
    await seedSessions(store, accepting, CALLERS);
    const send = sendThrough(createAcceptanceServices(accepting, store));
    // the first round warms both up
    await playRound(send, loop);
    const rounds = [];
    for (let at = 0; at < ROUNDS; at += 1) rounds.push(await playRound(send, loop));
    return {
      servicePerSecond: spreadOf(rounds.map(({ service }) => service)),
      bareLoopPerSecond: spreadOf(rounds.map(({ inserted }) => inserted)),
      ratio: spreadOf(rounds.map(({ service, inserted }) => service / inserted)),
    };
  } finally {
    loop.close();
    await store.close();
    accepting.remove();
    bare.remove();
  }
}

async function playRound(
  send: Send,
  loop: BareLoop,
): Promise<{ service: number; inserted: number }> {
  const service = await acceptedPerSecond(send, SENDS_PER_CALLER);
  return { service, inserted: loop.insertedPerSecond() };
}

/** All callers send at once, each its next message when the last is accepted. */
async function acceptedPerSecond(send: Send, each: number): Promise<number> {
  const before = performance.now();
  const call = async (caller: number): Promise<void> => {
    for (let at = 0; at < each; at += 1) {
      const answer = await send(caller);
      if (answer.status !== 'accepted')
        throw new Error(`bench: not accepted: ${JSON.stringify(answer)}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
  return (CALLERS * each * 1000) / (performance.now() - before);
}

function sendThrough(services: Services): Send {
  const caller = { type: 'session', sessionKey: CALLER_KEY, agentId: 'main' } as const;
  return (at) => services.sendMessage(caller, argsOf(at));
}

function argsOf(caller: number): { sessionKey: string; message: string; timeoutSeconds: number } {
  return {
    sessionKey: groupKey(caller),
    message: 'please look at this when you can',
    timeoutSeconds: 0,
  };
}

async function measureWebSocket(): Promise<Pick<AcceptanceFigures, 'webSocketPerSecond'>> {
  const state = createBenchState();
  try {
    const store = state.openStore();
    await seedSessions(store, state, CALLERS);
    await store.close();
    const main = new URL('main.ts', import.meta.url).pathname;
    const args = [main, 'serve-acceptance', state.stateDir];
    const program = await startProcess(args, { token: () => ACCEPTANCE_TOKEN });
    const clients = await Promise.all(Array.from({ length: CALLERS }, () => program.connect()));
    const send = sendOver(clients);
    await acceptedPerSecond(send, WEB_SOCKET_SENDS);
    const rounds = [];
    for (let at = 0; at < WEB_SOCKET_ROUNDS; at += 1) {
      rounds.push(await acceptedPerSecond(send, WEB_SOCKET_SENDS));
    }
    await Promise.all(clients.map((client) => client.close()));
    await program.stop();
    return { webSocketPerSecond: spreadOf(rounds) };
  } finally {
    state.remove();
  }
}

function sendOver(clients: readonly GatewayClient[]): Send {
  return async (at) => {
    const params = { tool: 'sessions_send', args: argsOf(at), sessionKey: 'main' };
    const answer = await clients[at]?.request<{ result: { status: string } }>(
      'tools.invoke',
      params,
    );
    return answer?.result ?? { status: 'no client' };
  };
}
