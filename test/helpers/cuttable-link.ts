/** A stretch of network between a client and a gateway that a test can break. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface CuttableLink {
  /** `http://127.0.0.1:PORT`, in place of the gateway's own address */
  url: string;
  /** Breaks every connection that goes through it; new ones are let through. */
  cut(): void;
  /** Keeps what the gateway sends on the connections that there are; new ones are let through. */
  stall(): void;
  /** Lets through what was kept. */
  resume(): void;
  /** Resolves when that many connections have been made in all. */
  connected(count: number): Promise<void>;
}

/** Opens a link to a port of this machine; it ends with the test. */
export async function openLink(t: TestContext, port: number): Promise<CuttableLink> {
  const sockets = new Set<Socket>();
  /** the client's side of each connection of the gateway's side */
  const nears = new Map<Socket, Socket>();
  const stalled = new Set<Socket>();
  const waiters = new Set<() => void>();
  let made = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    nears.set(far, near);
    far.on('close', () => nears.delete(far));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => other.destroy());
      socket.on('close', () => sockets.delete(socket) && other.destroy());
    }
    made += 1;
    for (const wake of waiters) wake();
    waiters.clear();
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    stall: () => {
      for (const far of nears.keys()) {
        far.unpipe();
        stalled.add(far.pause());
      }
    },
    resume: () => {
      for (const far of stalled) {
        const near = nears.get(far);
        if (near !== undefined) far.pipe(near);
      }
      stalled.clear();
    },
    connected: async (count) => {
      while (made < count) await new Promise<void>((resolve) => waiters.add(resolve));
    },
  };
}

/** Where one connection breaks: after so many bytes from this side. */
export interface Cut {
  afterBytes: number;
  side: 'client' | 'gateway';
}
export interface CuttingLink {
  url: string;
  /** The next connections break like this, one after another; those behind them do not. */
  plan(cuts: readonly Cut[]): void;
}

/** Opens a link that breaks connections in the middle of what they carry; it ends with the test. */
export async function openCuttingLink(t: TestContext, port: number): Promise<CuttingLink> {
  const sockets = new Set<Socket>();
  let planned: Cut[] = [];
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const cut = planned.shift();
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const [from, to, side] of [
      [near, far, 'client'],
      [far, near, 'gateway'],
    ] as const) {
      sockets.add(from);
      let left = cut?.side === side ? cut.afterBytes : Number.POSITIVE_INFINITY;
      from.on('data', (chunk: Buffer) => {
        const isLast = chunk.length >= left;
        to.write(isLast ? chunk.subarray(0, left) : chunk, () => isLast && end());
        left -= chunk.length;
      });
      from.on('error', end);
      from.on('close', () => {
        sockets.delete(from);
        end();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan: (cuts) => {
      planned = [...cuts];
    },
  };
}
