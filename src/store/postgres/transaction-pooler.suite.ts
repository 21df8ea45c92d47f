/** A pooler in transaction mode, as far as a test needs one: clients share two sessions of the server. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Pooler {
  url: string;
  close(): void;
}

const READY = 'Z'.charCodeAt(0);
const SERVERS = 2;

interface ServerSession {
  socket: Socket;
  client: Socket | undefined;
}

/** Puts a pooler in front of a database. */
export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const target = new URL(databaseUrl);
  const free: ServerSession[] = [];
  const waiting: (() => void)[] = [];
  const sessions = await Promise.all(
    Array.from({ length: SERVERS }, () => openSession(target, free, waiting)),
  );
  const clients = new Set<Socket>();
  const listener = createServer((client) => {
    clients.add(client);
    client.on('error', () => {});
    serve(client, { free, waiting });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(databaseUrl);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    close: () => {
      listener.close();
      for (const { socket } of sessions) socket.destroy();
      for (const client of clients) client.destroy();
    },
  };
}

/** Greets a client with a made-up process id; each of its transactions gets a free session. */
function serve(client: Socket, pool: { free: ServerSession[]; waiting: (() => void)[] }): void {
  let isGreeted = false;
  let backlog: Buffer[] = [];
  let session: ServerSession | undefined;
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = false;
    if (session?.client !== client) {
      session = pool.free.pop();
      if (session === undefined) {
        isWaiting = true;
        pool.waiting.push(flush);
        return;
      }
      session.client = client;
    }
    for (const chunk of backlog) session.socket.write(chunk);
    backlog = [];
  };
  client.on('data', (chunk) => {
    if (!isGreeted) {
      isGreeted = true;
      client.write(greeting());
      return;
    }
    // a client that says good-bye leaves the session to the others
    if (chunk[0] === 'X'.charCodeAt(0)) return void client.end();
    backlog.push(chunk);
    if (!isWaiting) flush();
  });
}

function openSession(
  target: URL,
  free: ServerSession[],
  waiting: (() => void)[],
): Promise<ServerSession> {
  const socket = connect(Number(target.port), target.hostname);
  const session: ServerSession = { socket, client: undefined };
  const { promise, resolve } = Promise.withResolvers<ServerSession>();
  let unread = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('connect', () => socket.write(startup(target)));
  socket.on('data', (chunk) => {
    const { client } = session;
    client?.write(chunk);
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 5 && unread.length > unread.readUInt32BE(1)) {
      const length = unread.readUInt32BE(1) + 1;
      const type = unread[0];
      const body = unread.subarray(5, length);
      if (type === 'R'.charCodeAt(0) && body.readUInt32BE(0) === 3) {
        socket.write(message('p', `${decodeURIComponent(target.password)}\0`));
      }
      const isIdle = type === READY && body[0] === 'I'.charCodeAt(0);
      unread = unread.subarray(length);
      if (!isIdle) continue;
      session.client = undefined;
      free.push(session);
      resolve(session);
      waiting.shift()?.();
    }
  });
  return promise;
}

function startup(target: URL): Buffer {
  const fields = `user\0${target.username}\0database\0${decodeURIComponent(target.pathname.slice(1))}\0\0`;
  const body = Buffer.concat([Buffer.from([0, 3, 0, 0]), Buffer.from(fields)]);
  return Buffer.concat([lengthOf(body), body]);
}

function greeting(): Buffer {
  return Buffer.concat([
    message('R', Buffer.from([0, 0, 0, 0])),
    message('S', 'client_encoding\0UTF8\0'),
    message('K', Buffer.from([0x40, 0, 0, 1, 0, 0, 0, 1])),
    message('Z', 'I'),
  ]);
}

function message(type: string, content: string | Buffer): Buffer {
  const body = Buffer.from(content);
  return Buffer.concat([Buffer.from(type), lengthOf(body), body]);
}

function lengthOf(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return length;
}
