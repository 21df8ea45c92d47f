/** A stretch of network between a client and a gateway that a test can break. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface CuttableLink {
  /** `http://127.0.0.1:PORT`, in place of the gateway's own address */
  url: string;
  /** Breaks every connection that goes through it; new ones are let through. */
  cut(): void;
  /** Resolves when that many connections have been made in all. */
  connected(count: number): Promise<void>;
}

/** Opens a link to a port of this machine; it ends with the test. */
export async function openLink(t: TestContext, port: number): Promise<CuttableLink> {
  const sockets = new Set<Socket>();
  const waiters = new Set<() => void>();
  let made = 0;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
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
    connected: async (count) => {
      while (made < count) await new Promise<void>((resolve) => waiters.add(resolve));
    },
  };
}
