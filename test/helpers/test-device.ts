/** A client with a key of its own, made for the test, that proves it as the protocol says. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ResponseFrame, ServerFrame } from '../../src/protocol/frames.ts';

type Json = Record<string, unknown>;

export interface TestDevice {
  id: string;
  publicKey: string;
  privateKey: KeyObject;
}

/** Makes a key and the id that goes with it. */
export function makeDevice(): TestDevice {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  return {
    id: createHash('sha256').update(raw).digest('hex'),
    publicKey: raw.toString('base64url'),
    privateKey,
  };
}

/** Returns the parameters of a connect whose proof fits, with what is to be changed afterwards. */
export function deviceConnect(
  device: TestDevice,
  challenge: { nonce: string; ts: number },
  given: { auth?: Json; scopes?: string[]; version?: 'v2' | 'v3'; platform?: string } = {},
): Json {
  const { auth = {}, scopes, version = 'v3', platform = 'Linux' } = given;
  const client = { id: 'console', version: '1', platform, mode: 'ui', deviceFamily: 'Desk' };
  const shown = auth['token'] ?? auth['deviceToken'];
  const parts = [
    version,
    device.id,
    client.id,
    client.mode,
    'operator',
    (scopes ?? []).join(','),
    challenge.ts,
    typeof shown === 'string' ? shown : '',
    challenge.nonce,
  ];
  if (version === 'v3') parts.push(platform.toLowerCase(), 'desk');
  const signature = sign(null, Buffer.from(parts.join('|')), device.privateKey);
  return {
    minProtocol: 3,
    maxProtocol: 4,
    client,
    role: 'operator',
    ...(scopes === undefined ? {} : { scopes }),
    auth,
    device: {
      id: device.id,
      publicKey: device.publicKey,
      signature: signature.toString('base64url'),
      signedAt: challenge.ts,
      nonce: challenge.nonce,
    },
  };
}

/** A socket of a device: what `connect` answered, and the way to ask on. */
export interface DeviceSocket {
  ws: WebSocket;
  answer: ResponseFrame;
  /** `details.code` of a refusal */
  code: unknown;
  /** `auth` of `hello-ok` */
  auth: { scopes?: string[]; deviceToken?: string };
  request(method: string, params?: object): Promise<ResponseFrame>;
  /** Resolves with the first such event. */
  event(name: string): Promise<Json>;
  closed: Promise<{ code: number; reason: string }>;
}

/** Opens a socket, answers the challenge with what `toParams` returns, and resolves with the outcome. */
export async function openDevice(
  url: string,
  toParams: (challenge: { nonce: string; ts: number }) => Json,
  headers: Record<string, string> = {},
): Promise<DeviceSocket> {
  const ws = new WebSocket(url.replace('http', 'ws'), { headers });
  const frames: ServerFrame[] = [];
  const waiting = new Set<() => void>();
  ws.on('error', () => {});
  const closed = once(ws, 'close').then(([code, reason]) => ({
    code: Number(code),
    reason: String(reason),
  }));
  ws.on('message', (data: Buffer) => {
    frames.push(JSON.parse(data.toString()) as ServerFrame);
    for (const look of waiting) look();
  });
  const next = (fits: (frame: ServerFrame) => boolean): Promise<ServerFrame> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = frames.find(fits);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      void closed.then(({ code }) => reject(new Error(`closed ${code} before the frame came`)));
      look();
    });
  const event = async (name: string) => {
    const frame = await next((each) => each.type === 'event' && each.event === name);
    return (frame as { payload: Json }).payload;
  };
  let count = 0;
  const request = async (method: string, params: object = {}) => {
    const id = `d${++count}`;
    ws.send(JSON.stringify({ type: 'req', id, method, params }));
    return (await next((each) => each.type === 'res' && each.id === id)) as ResponseFrame;
  };
  const challenge = (await event('connect.challenge')) as { nonce: string; ts: number };
  const answer = await request('connect', toParams(challenge));
  const code = answer.ok ? undefined : answer.error.details?.['code'];
  const auth = answer.ok ? (answer.payload as Pick<DeviceSocket, 'auth'>).auth : {};
  return { ws, answer, code, auth, request, event, closed };
}
