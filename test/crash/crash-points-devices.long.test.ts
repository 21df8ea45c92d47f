/** A gateway killed as it lets a device in, or as an operator decides about one. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import {
  deviceConnect,
  type DeviceSocket,
  makeDevice,
  openDevice,
  type TestDevice,
} from '../helpers/test-device.ts';
import { DEVICE_STEPS } from './crash-table.ts';
import { PATIENCE_MS } from '../helpers/patience.ts';

type StoryName = (typeof DEVICE_STEPS)[number]['story'];

/** A gateway that runs, and the device of the test. */
interface Place {
  client: GatewayClient;
  address: { url: string; token: string };
  device: TestDevice;
}
/** What the caller still knows of earlier lives: a token, the id of a request. */
type Known = string | undefined;

interface DeviceStory {
  /** what was there before */
  prepare?(place: Place): Promise<Known>;
  /** Does it; again after a kill, as who was not answered would. Resolves with what it was told. */
  act(place: Place, known: Known): Promise<Known>;
  /** what must be true of it in the end */
  check(place: Place, told: { known: Known; last: Known }): Promise<void>;
}

const STORIES: Readonly<Record<StoryName, DeviceStory>> = {
  new: { act: connectForToken, check: showToken },
  asking: {
    act: ask,
    check: async ({ client }, { last }) => assert.deepEqual(await openRequests(client), [last]),
  },
  approved: {
    prepare: async (place) => decide('device.pair.approve')(place, await ask(place)),
    act: connectForToken,
    check: showToken,
  },
  approval: {
    prepare: ask,
    act: decide('device.pair.approve'),
    check: async (place) => showToken(place, { last: await connectForToken(place) }),
  },
  rejection: {
    prepare: ask,
    act: decide('device.pair.reject'),
    check: async (place, { known }) => {
      assert.deepEqual(await openRequests(place.client), []);
      assert.notEqual(await ask(place), known, 'it may ask anew');
    },
  },
  revocation: {
    prepare: connectAndShow,
    act: async ({ client, device }) => {
      await client.request('device.revoke', { deviceId: device.id });
      return undefined;
    },
    check: async (place, { known }) => {
      assert.equal((await byToken(place, known)).code, 'AUTH_DEVICE_TOKEN_MISMATCH');
      assert.equal((await bySecret(place)).code, 'PAIRING_REQUIRED');
    },
  },
  rotation: {
    prepare: connectAndShow,
    act: async ({ client, device }) => {
      const rotated = await client.request('device.token.rotate', { deviceId: device.id });
      return String(rotated['deviceToken']);
    },
    check: async (place, { known, last }) => {
      assert.equal((await byToken(place, known)).code, 'AUTH_DEVICE_TOKEN_MISMATCH');
      await showToken(place, { last });
    },
  },
};

describe('a gateway killed while it has to do with a device', { concurrency: 2 }, () => {
  for (const step of DEVICE_STEPS) {
    for (const when of ['before', 'after'] as const) {
      it(`[RC2] ${step.story}, just ${when} ${step.unit}, leaves ${step[when]}; it ends as if nobody had`, async (t) => {
        const undisturbed = await play(t, step.story);
        assert.deepEqual(await play(t, step.story, `${step.unit}:${when}:1`), undisturbed);
      });
    }
  }
});

/** Plays the story, in a process that is killed first where a crash point is given, and resolves with its rows. */
async function play(t: TestContext, name: StoryName, crash?: string): Promise<string[]> {
  const story = STORIES[name];
  const device = makeDevice();
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  const inTheEnd = await openGateway(t, stateDir);
  const known = await story.prepare?.({ ...inTheEnd, device });
  await inTheEnd.close();
  if (crash !== undefined) await actUntilKilled(t, { stateDir, crash, story, device, known });
  const gateway = await openGateway(t, stateDir);
  const place = { ...gateway, device };
  const last = await story.act(place, known);
  await story.check(place, { known, last });
  await gateway.close();
  return rowsOf(stateDir);
}

async function actUntilKilled(
  t: TestContext,
  given: { stateDir: string; crash: string; story: DeviceStory; device: TestDevice; known: Known },
): Promise<void> {
  const { stateDir, crash, story, device, known } = given;
  const before = rowsOf(stateDir);
  const killed = startGatewayProcess(t, { stateDir, crash });
  const address = await killed.ready;
  const client = await connectGateway({ ...address, timeoutMs: PATIENCE_MS });
  await assert.rejects(story.act({ client, address, device }, known), 'nobody is answered');
  assert.equal((await killed.exited).signal, 'SIGKILL');
  await client.closed;
  const isUnchanged = JSON.stringify(rowsOf(stateDir)) === JSON.stringify(before);
  assert.equal(isUnchanged, crash.includes(':before:'), 'all of it or nothing');
}

function bySecret({ address, device }: Place, headers = {}): Promise<DeviceSocket> {
  const auth = { token: address.token };
  return openDevice(address.url, (asked) => deviceConnect(device, asked, { auth }), headers);
}

function byToken({ address, device }: Place, deviceToken: Known): Promise<DeviceSocket> {
  const auth = { deviceToken };
  return openDevice(address.url, (asked) => deviceConnect(device, asked, { auth }));
}

/** Connects with the secret of the gateway, and resolves with the token that it is given. */
async function connectForToken(place: Place): Promise<Known> {
  const { answer, auth } = await bySecret(place);
  assert.ok(answer.ok && auth.deviceToken !== undefined, JSON.stringify(answer));
  return auth.deviceToken;
}

async function showToken(place: Place, { last }: { last: Known }): Promise<void> {
  const { answer } = await byToken(place, last);
  assert.ok(answer.ok, JSON.stringify(answer));
}

async function connectAndShow(place: Place): Promise<Known> {
  const token = await connectForToken(place);
  await showToken(place, { last: token });
  return token;
}

/** Connects from elsewhere, where nobody is let in by themselves; resolves with the id of its request. */
async function ask(place: Place): Promise<Known> {
  const { code } = await bySecret(place, { 'X-Forwarded-For': '203.0.113.9' });
  assert.equal(code, 'PAIRING_REQUIRED');
  return (await openRequests(place.client))[0];
}

async function openRequests(client: GatewayClient): Promise<string[]> {
  const { pending } = await client.request<{ pending: { requestId: string }[] }>(
    'device.pair.list',
  );
  return pending.map(({ requestId }) => requestId);
}

/** Decides about a request. One that is no longer open was decided before the caller could be told. */
function decide(method: string): (place: Place, requestId: Known) => Promise<Known> {
  return async ({ client }, requestId) => {
    await client.request(method, { requestId }).catch((error: unknown) => {
      if (!String(error).includes('no open request')) throw error;
    });
    return undefined;
  };
}

/** Devices, requests and what the audit log says, but for ids and times. */
function rowsOf(stateDir: string): string[] {
  const db = new DatabaseSync(databaseOf(stateDir), { readOnly: true });
  const all = (sql: string): string[] =>
    db
      .prepare(sql)
      .all()
      .map((row) => JSON.stringify(row));
  try {
    return [
      ...all(`select scopes_json, approved_by, token_hash is not null as has_token,
        token_used_at is not null as is_shown, revoked_at is not null as is_revoked from devices`),
      ...all('select scopes_json, address from pairings'),
      // A rotation that nobody was told of is a rotation: asked again there are two.
      ...all(`select action, actor, case action when 'device.token.rotate' then 1 else count(*) end as lines
        from audit group by action, actor`),
    ];
  } finally {
    db.close();
  }
}
