import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { silentLogger } from '../util/logger.ts';
import type { Logger } from '../util/logger.ts';
import { closeServer, createHttpServer, listenOn } from './http-server.ts';

async function serve(
  t: TestContext,
  load: () => Promise<RequestListener>,
  logger: Logger = silentLogger,
) {
  const server = createHttpServer(load, logger);
  const { url } = await listenOn(server, { host: '127.0.0.1', port: 0 });
  t.after(() => closeServer(server, 0));
  return url;
}

test('requests that come while the HTTP door loads are answered, bodies and all, and it loads once', async (t) => {
  const loaded = Promise.withResolvers<RequestListener>();
  let loads = 0;
  const url = await serve(t, () => {
    loads += 1;
    return loaded.promise;
  });
  assert.equal(loads, 0);
  const answers = ['one', 'two'].map(async (body) =>
    (await fetch(url, { method: 'POST', body })).text(),
  );
  loaded.resolve((request, response) => void request.pipe(response));
  assert.deepEqual(await Promise.all(answers), ['one', 'two']);
  assert.equal(loads, 1);
});

test('an HTTP door that cannot be loaded answers 500 and is told in the log', async (t) => {
  const errors: string[] = [];
  const logger = {
    ...silentLogger,
    error: (_fields: object, message: string) => errors.push(message),
  };
  const url = await serve(t, () => Promise.reject(new Error('no such file')), logger);
  assert.equal((await fetch(url)).status, 500);
  assert.deepEqual(errors, ['the HTTP door could not be loaded']);
});
