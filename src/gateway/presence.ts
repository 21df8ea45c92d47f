/** Who is connected to this gateway, and who was until lately (SPEC B10.5). Nothing of it is durable. */
import { hostname } from 'node:os';
import { maskValue } from '../core/mask-secrets.ts';
import type { ConnectParams } from '../protocol/frames.ts';
import type { PresenceEntry } from '../protocol/presence.ts';
import type { Clock } from '../util/clock.ts';

/** A client that was let in, as it is told to others. */
export interface PresentClient {
  connId: string;
  client: ConnectParams['client'];
  address: string;
  scopes: readonly string[];
  deviceId?: string | undefined;
}
export interface PresenceOptions {
  clock: Clock;
  version: string;
  /** where the gateway listens */
  host: string;
  /** called after each change */
  onChange: () => void;
}
export interface Presence {
  /** Adds a client; returns what to call when it is gone. Programs of one command are left out. */
  join(client: PresentClient): () => void;
  /** The gateway itself, then the clients, the newest first. */
  entries(): PresenceEntry[];
  /** grows with each change of the entries */
  version(): number;
}

type Entry = Omit<PresenceEntry, 'ts' | 'reason'>;

/** How long one that has gone is told. */
const GONE_MS = 300_000;
const MAX_ENTRIES = 200;
/** of what clients say of themselves, characters */
const MAX_TEXT = 100;

/** Returns the list of one gateway, which is the first on it. */
export function createPresence({ clock, version, host, onChange }: PresenceOptions): Presence {
  const { platform } = process;
  const self: Entry = { host: hostname(), ip: host, version, platform, mode: 'gateway' };
  /** by the name of its instance: its connections, the newest last */
  const connected = new Map<string, Map<string, Entry>>();
  const gone = new Map<string, Entry & { ts: number }>();
  let changes = 1;

  function changed(): void {
    changes += 1;
    onChange();
  }

  function leave(name: string, connId: string): void {
    const connections = connected.get(name);
    const entry = connections?.get(connId);
    if (connections === undefined || entry === undefined) return;
    connections.delete(connId);
    if (connections.size === 0) {
      connected.delete(name);
      gone.set(name, { ...entry, ts: clock.now() });
      forgetOldest(gone, MAX_ENTRIES);
    }
    changed();
  }

  return {
    join: (client) => {
      if (client.client.mode === 'cli') return () => {};
      const name = nameOf(client);
      const connections = connected.get(name) ?? new Map<string, Entry>();
      connections.set(client.connId, toEntry(client));
      // put at the end: it is the newest
      connected.delete(name);
      connected.set(name, connections);
      gone.delete(name);
      changed();
      return () => leave(name, client.connId);
    },
    entries: () => {
      const now = clock.now();
      for (const [name, { ts }] of gone) if (now - ts > GONE_MS) gone.delete(name);
      const here = [...connected.values()]
        .slice(-(MAX_ENTRIES - 1))
        .flatMap((connections) => [...connections.values()].slice(-1))
        .map((entry): PresenceEntry => ({ ...entry, reason: 'connect', ts: now }));
      const left = [...gone.values()].map((entry): PresenceEntry => ({
        ...entry,
        reason: 'disconnect',
      }));
      const clients = [...here.reverse(), ...left.reverse()].slice(0, MAX_ENTRIES - 1);
      return [{ ...self, reason: 'self', ts: now }, ...clients];
    },
    version: () => changes,
  };
}

/** Instances are told apart by their names in any case (B10.5); one without a name is one by itself. */
function nameOf({ client, deviceId, connId }: PresentClient): string {
  return `${deviceId ?? ''} ${client.instanceId?.trim().toLowerCase() || (deviceId === undefined ? connId : '')}`;
}

function toEntry({ client, address, scopes, deviceId }: PresentClient): Entry {
  const { deviceFamily, modelIdentifier, instanceId } = client;
  const said = {
    host: client.displayName?.trim() || client.id,
    version: client.version,
    platform: client.platform,
    ...(deviceFamily === undefined ? {} : { deviceFamily }),
    ...(modelIdentifier === undefined ? {} : { modelIdentifier }),
    ...(instanceId === undefined ? {} : { instanceId }),
  };
  const short = Object.entries(said).map(([name, text]) => [name, shortly(text)] as const);
  return {
    // a client may have been set up with a credential for its name
    ...(maskValue(Object.fromEntries(short)) as typeof said),
    ip: address,
    mode: client.mode,
    ...(deviceId === undefined ? {} : { deviceId }),
    roles: ['operator'],
    scopes: [...scopes],
  };
}

/** Never blank: clients look for a text. */
function shortly(text: string): string {
  return text.trim().slice(0, MAX_TEXT).toWellFormed() || 'unknown';
}

function forgetOldest(entries: Map<string, unknown>, limit: number): void {
  const oldest = entries.keys().next().value;
  if (entries.size > limit && oldest !== undefined) entries.delete(oldest);
}
