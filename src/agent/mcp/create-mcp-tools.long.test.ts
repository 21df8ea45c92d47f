/** MCP servers that behave badly, change or end; each test starts some programs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { badServer, startHttpServer, stdioServer } from '../../../test/helpers/mcp-servers.ts';
import { effectsOf, isAlive, mcpWorld, until } from '../../../test/helpers/mcp-world.ts';

describe('the tools of an MCP server', { concurrency: 2 }, () => {
  it('[MS2] are those of the servers that the agent may use and that are switched on', async (t) => {
    const world = mcpWorld(t, {
      one: badServer('', { agents: ['Other'] }),
      two: badServer(''),
      three: badServer('', { enabled: false }),
    });
    assert.deepEqual(await world.names('main'), ['two__go']);
    assert.deepEqual(await world.names('other'), ['one__go', 'two__go']);
  });

  it('[MS1] are those of a server too that speaks the newest revision alone', async (t) => {
    const world = mcpWorld(t, { s: stdioServer({}, ['--newest']) });
    assert.equal((await world.call('s__echo', { text: 'hello' })).text, 'hello');
    await world.call('s__grow');
    await until(async () => (await world.names()).includes('s__grown'));
  });

  it('[MS13] follow their server when it says that they have changed', async (t) => {
    const world = mcpWorld(t, { s: stdioServer() });
    assert.ok(!(await world.names()).includes('s__grown'));
    await world.call('s__grow');
    await until(async () => (await world.names()).includes('s__grown'));
    assert.equal((await world.call('s__grown')).text, 'grown up');
  });
});

describe('a server that cannot be used', { concurrency: 2 }, () => {
  it('[MS8] costs a turn its connection limit once, and the reason is told', async (t) => {
    const world = mcpWorld(t, {
      none: { command: 'no-such-program-anywhere' },
      gone: badServer('gone'),
      silent: badServer('silent', { connectionTimeoutMs: 300 }),
      listless: badServer('listless', { connectionTimeoutMs: 3_000 }),
      endless: badServer('endless'),
      well: badServer(''),
    });
    assert.deepEqual(await world.names(), ['well__go']);
    assert.match((await world.whyMissing('none__x')) ?? '', /its command or folder is not there/);
    assert.match((await world.whyMissing('gone__x')) ?? '', /it ended/);
    assert.match((await world.whyMissing('silent__x')) ?? '', /did not answer in time/);
    assert.match((await world.whyMissing('listless__x')) ?? '', /did not answer in time/);
    assert.match((await world.whyMissing('endless__x')) ?? '', /not speak MCP as expected/);
    assert.equal(await world.whyMissing('well__x'), undefined);
    assert.equal(await world.whyMissing('unheard__x'), undefined);
    const told = world.log.find(({ fields }) => fields['mcpServer'] === 'gone');
    assert.deepEqual(told?.fields['stderr'], ['cannot start: no such thing']);
    // within the pause nobody waits for it again
    assert.deepEqual(await world.names(), ['well__go']);
  });

  it('[MS11] that does not answer a call is given up at the limit, and started again after three', async (t) => {
    const world = mcpWorld(t, { s: badServer('mute', { requestTimeoutMs: 100 }) });
    for (let at = 0; at < 3; at += 1) {
      const { isError, text } = await world.call('s__go');
      assert.ok(isError);
      assert.match(text, /did not answer in time; whether the call was done is unknown/);
    }
    await world.tools();
    const starts = world.log.filter(({ message }) => message.endsWith('is ready'));
    assert.equal(starts.length, 2);
  });

  it('[MS17] that floods its output, or answers without an end, is bounded', async (t) => {
    const world = mcpWorld(t, { noisy: badServer('noisy'), fill: badServer('fill') });
    assert.match((await world.call('noisy__go')).text, /^done/);
    const { isError, text } = await world.call('fill__go');
    assert.deepEqual([isError, /it ended/.test(text)], [true, true], text);
  });

  it('[MS4, MS5] that lists the same names, odd ones, or far too much has what can be used', async (t) => {
    const world = mcpWorld(t, { odd: badServer('odd'), many: badServer('many') });
    const tools = await world.tools();
    const odd = tools.filter(({ spec }) => spec.name.startsWith('odd__'));
    assert.equal(odd.length, 6);
    assert.equal(tools.length - odd.length, 200);
    for (const { spec } of tools) assert.match(spec.name, /^[A-Za-z0-9_-]{1,64}$/);
    const hidden = odd.find(({ spec }) => spec.name === 'odd__hidden');
    assert.match(hidden?.spec.description ?? '', /^Plain words\. z+$/);
  });
});

describe('the end of a server', { concurrency: 2 }, () => {
  it('[MS11] an aborted run cancels its call', async (t) => {
    const { env, lines } = effectsOf(t);
    const world = mcpWorld(t, { s: stdioServer({ env }) });
    const run = new AbortController();
    const calling = world.call('s__hang', {}, run.signal);
    await until(() => lines().includes('hang begun'));
    run.abort();
    assert.deepEqual(await calling, {
      text: 'stopped, because the run was aborted',
      images: [],
      isError: true,
    });
    await until(() => lines().includes('hang ended'));
    assert.equal((await world.call('s__echo', { text: 'still here' })).text, 'still here');
  });

  it('[MS12] comes with a change of its settings: its calls fail, and the new one is another process', async (t) => {
    const { env, lines } = effectsOf(t);
    const server = stdioServer({ env });
    const world = mcpWorld(t, { s: server, other: stdioServer() });
    const pid = (await world.call('s__pid')).text;
    const kept = (await world.call('other__pid')).text;
    const calling = world.call('s__hang');
    await until(() => lines().includes('hang begun'));
    world.configure({ s: { ...server, requestTimeoutMs: 1_000 }, other: stdioServer() });
    world.mcp.reconfigure();
    const { isError, text } = await calling;
    assert.equal(isError, true);
    assert.match(text, /its configuration has changed; whether the call was done is unknown/);
    assert.notEqual((await world.call('s__pid')).text, pid);
    assert.equal((await world.call('other__pid')).text, kept);
    world.configure({});
    assert.deepEqual(await world.names(), []);
    await until(() => !isAlive(Number(kept)));
  });

  it('[MS16] comes when nobody has used it for long, and with the end of the gateway', async (t) => {
    const world = mcpWorld(t, { s: stdioServer() }, { sessionIdleTtlMs: 1 });
    const pid = Number((await world.call('s__pid')).text);
    await until(() => !isAlive(pid));
    const next = Number((await world.call('s__pid')).text);
    assert.notEqual(next, pid);
    await world.mcp.stop();
    await until(() => !isAlive(next));
    assert.deepEqual(await world.names(), []);
  });
});

describe('a server whose start takes longer than it may be idle', () => {
  it('[MS16] is ended when nobody uses it then', async (t) => {
    const world = mcpWorld(t, { s: badServer('') }, { sessionIdleTtlMs: 1 });
    assert.deepEqual(await world.names(), ['s__go']);
    await until(() => world.mcp.states()[0]?.state === 'off');
  });
});

describe('a program that does not want to end', () => {
  it('[MS16] is killed, also when it never answered', async (t) => {
    const { env, lines } = effectsOf(t);
    const world = mcpWorld(t, {
      slow: badServer('stubborn'),
      mute: badServer('stubborn and silent', { env, connectionTimeoutMs: 3_000 }),
    });
    const pid = Number((await world.call('slow__go')).text.replace('done by ', ''));
    assert.ok(isAlive(pid));
    const mute = Number(lines());
    assert.ok(isAlive(mute));
    await world.mcp.stop();
    await until(() => !isAlive(pid) && !isAlive(mute));
  });
});

describe('a server over HTTP', { concurrency: 2 }, () => {
  it('[MS17] whose answer, or event, is larger than 10 MB fails', async (t) => {
    const large = 'x'.repeat(11_000_000);
    let type = 'application/json';
    const server = await startHttpServer(t, async (request) => {
      const body = request.method === 'POST' ? await request.clone().text() : '';
      if (!body.includes('tools/call')) return undefined;
      return new Response(`data: ${large}`, { headers: { 'content-type': type } });
    });
    const world = mcpWorld(t, { s: { url: server.url } });
    for (type of ['application/json', 'text/event-stream']) {
      const { isError, text } = await world.call('s__echo', { text: 'x' });
      assert.deepEqual([isError, text.length < 300], [true, true]);
      assert.match(text, /larger than 10 MB|it ended/);
    }
  });
});
