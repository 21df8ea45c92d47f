/** The tools of real MCP servers: a program that tests start, and one over HTTP. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { badServer, startHttpServer, stdioServer } from '../../../test/helpers/mcp-servers.ts';
import { startOldServer } from '../../../test/helpers/mcp-old-server.ts';
import { mcpWorld } from '../../../test/helpers/mcp-world.ts';
import type { ToolContext } from '../runtime.ts';

type Json = Record<string, unknown>;

async function isCall(request: Request): Promise<boolean> {
  if (request.method !== 'POST') return false;
  return (await request.clone().text()).includes('"tools/call"');
}

describe('the tools of an MCP server', { concurrency: 2 }, () => {
  it('[MS1, MS7] are listed and called, over stdio', async (t) => {
    const world = mcpWorld(t, { s: stdioServer() });
    const names = await world.names();
    assert.ok(names.includes('s__echo') && names.includes('s__get-odd-name'), names.join());
    assert.deepEqual(names, names.toSorted());
    assert.equal((await world.call('s__echo', { text: 'hello' })).text, 'hello');
    assert.equal((await world.call('s__sum', { a: 2, b: 3 })).text, '{"sum":5}');
    assert.equal((await world.call('s__get-odd-name')).text, 'odd');
    assert.equal((await world.call('s__picture')).images?.length, 1);
    assert.equal((await world.call('s__refuse')).isError, true);
    const long = await world.call('s__long', { letters: 1_000_000 });
    assert.ok(long.text.length < 31_000);
    const unparsed = await world.call('s__echo', { invalidJson: 'x' });
    assert.match(unparsed.text, /were not a JSON object/);
  });

  it('[MS1, MS15] are listed and called, over HTTP, with the headers of the configuration', async (t) => {
    const server = await startHttpServer(t);
    const headers = { Authorization: 'Bearer let-me-in' };
    const world = mcpWorld(t, { s: { url: server.url, headers } });
    assert.equal((await world.call('s__echo', { text: 'hello' })).text, 'hello');
    const sent = server.requests.map((request) => request.headers.get('authorization'));
    assert.deepEqual([...new Set(sent)], ['Bearer let-me-in']);
  });

  it('[MS10] run with the few variables that every program needs and their own, and what they know of ours comes back masked', async (t) => {
    process.env['OF_THE_GATEWAY'] = 'not for you';
    t.after(() => delete process.env['OF_THE_GATEWAY']);
    const env = { API_TOKEN: 'sesame-open-1', FOLDER: '/srv/documents' };
    const world = mcpWorld(t, { s: stdioServer({ env }) });
    const seen = JSON.parse((await world.call('s__environment')).text) as Json;
    assert.equal(seen['OF_THE_GATEWAY'], undefined);
    assert.deepEqual([seen['API_TOKEN'], seen['FOLDER']], ['[masked]', '/srv/documents']);
    const known = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', ...Object.keys(env)];
    assert.deepEqual(
      Object.keys(seen).filter((name) => !known.includes(name)),
      [],
    );
  });
});

describe('a server that cannot be used', { concurrency: 2 }, () => {
  it('[MS9] that dies in a call is an error which says that nobody knows, and is started again', async (t) => {
    const world = mcpWorld(t, { s: stdioServer() });
    const pid = (await world.call('s__pid')).text;
    const died = await world.call('s__die');
    assert.deepEqual(
      [died.isError, died.text],
      [true, 'the call failed at MCP server s: it ended; whether the call was done is unknown'],
    );
    assert.notEqual((await world.call('s__pid')).text, pid);
  });

  it('[MS7] that refuses a call is an error in its own words', async (t) => {
    const world = mcpWorld(t, { s: badServer('error') });
    const { isError, text } = await world.call('s__go');
    assert.equal(isError, true);
    assert.equal(
      text,
      'the call failed at MCP server s: it answered: the argument when is missing',
    );
  });
});

describe('a server over HTTP', { concurrency: 2 }, () => {
  it('[MS15] that sends elsewhere is not followed, so that its headers go nowhere else', async (t) => {
    const elsewhere = await startHttpServer(t);
    const server = await startHttpServer(t, () => Response.redirect(elsewhere.url, 307));
    const world = mcpWorld(t, { s: { url: server.url, headers: { Authorization: 'Bearer x' } } });
    assert.deepEqual(await world.names(), []);
    assert.equal(elsewhere.requests.length, 0);
  });

  it('[MS15] that does not let us in says so', async (t) => {
    const server = await startHttpServer(t, () => new Response('secret page', { status: 401 }));
    const world = mcpWorld(t, { s: { url: server.url } });
    assert.deepEqual(await world.names(), []);
    assert.match((await world.whyMissing('s__x')) ?? '', /HTTP 401; check its headers/);
    assert.doesNotMatch(JSON.stringify(world.log), /secret page|127\.0\.0\.1/);
  });

  it('[MS15] that has forgotten us is connected to again, and a call that it did not look at made once more', async (t) => {
    let forgets = 1;
    const server = await startHttpServer(t, async (request) => {
      if (!(await isCall(request)) || forgets === 0) return undefined;
      forgets -= 1;
      return new Response('who are you?', { status: 404 });
    });
    const world = mcpWorld(t, { s: { url: server.url } });
    assert.equal((await world.call('s__echo', { text: 'again' })).text, 'again');
    forgets = 2;
    const { isError, text } = await world.call('s__echo', { text: 'never' });
    assert.equal(isError, true);
    assert.match(text, /it answered HTTP 404/);
  });

  it('[MS7, MS15] whose own error speaks of a 404 has looked at the call, which is not made again', async (t) => {
    let calls = 0;
    const server = await startHttpServer(t, async (request) => {
      if (!(await isCall(request))) return undefined;
      calls += 1;
      const { id } = (await request.clone().json()) as Json;
      const error = { code: -32_000, message: 'no such issue', data: { status: 404 } };
      return Response.json({ jsonrpc: '2.0', id, error });
    });
    const world = mcpWorld(t, { s: { url: server.url } });
    const { text } = await world.call('s__echo', { text: 'x' });
    assert.match(text, /it answered: no such issue$/);
    assert.equal(calls, 1);
  });

  it('[MS1, MS15, MS16] of the protocol line before has a session with us, anew when it has forgotten it, which ends with the connection', async (t) => {
    const server = await startOldServer(t);
    const world = mcpWorld(t, { old: { url: server.url } });
    const first = (await world.call('old__where')).text;
    assert.deepEqual([...server.sessions], [first]);
    server.forget();
    const next = (await world.call('old__where')).text;
    assert.notEqual(next, first);
    assert.deepEqual([...server.sessions], [next]);
    await world.mcp.stop();
    assert.deepEqual([...server.sessions], []);
  });

  it('[MS15] that cannot take one call now fails that one alone', async (t) => {
    const begun = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<void>();
    let status = 200;
    const server = await startHttpServer(t, async (request) => {
      if (!(await isCall(request))) return undefined;
      if ((await request.clone().text()).includes('busy'))
        return new Response('not now', { status });
      begun.resolve();
      await refused.promise;
      return undefined;
    });
    const world = mcpWorld(t, { s: { url: server.url } });
    const going = world.call('s__echo', { text: 'patient' });
    await begun.promise;
    for (status of [429, 503]) {
      const { isError, text } = await world.call('s__echo', { text: 'busy' });
      assert.equal(isError, true);
      assert.match(text, new RegExp(`it answered HTTP ${status}`));
    }
    refused.resolve();
    assert.equal((await going).text, 'patient');
  });

  it('[MS9] that breaks off its answer fails the call at once', async (t) => {
    const ends = [
      (stream: ReadableStreamDefaultController<Uint8Array>) => stream.close(),
      (stream: ReadableStreamDefaultController<Uint8Array>) => stream.error(new Error('broken')),
    ];
    const server = await startHttpServer(t, async (request) => {
      if (!(await isCall(request))) return undefined;
      const body = new ReadableStream<Uint8Array>({ pull: (stream) => ends.shift()?.(stream) });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    const world = mcpWorld(t, { s: { url: server.url } });
    for (let at = 0; at < 2; at += 1) {
      const { isError, text } = await world.call('s__echo', { text: 'x' });
      assert.equal(isError, true);
      assert.match(text, /the connection broke; whether the call was done is unknown/);
    }
  });

  it('[MS8] that is gone is an error, and no secret of its address is told', async (t) => {
    const server = await startHttpServer(t);
    const world = mcpWorld(t, { s: { url: `${server.url}?key=hush-hush` } });
    await world.tools();
    const tool = (await world.tools()).find(({ spec }) => spec.name === 's__echo');
    await server.close();
    const signal = new AbortController().signal;
    const { isError, text } = await tool!.execute({ text: 'x' }, { signal } as ToolContext);
    assert.equal(isError, true);
    assert.match(text, /nobody listens|connection broke/);
    assert.deepEqual(await world.names(), []);
    assert.doesNotMatch(text + JSON.stringify(world.log), /hush-hush/);
  });
});
