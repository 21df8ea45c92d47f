/** The harnesses that people use, each with the real program: through MCP it lists, sends, spawns, waits, and is written to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UserMessage } from '../../src/protocol/message.ts';
import { startWorld } from '../helpers/test-world.ts';
import { HARNESSES, runHarness, type HarnessRun } from './harnesses.ts';
import { startModelEndpoint } from './model-endpoint.ts';

const CONFIG = {
  agents: { list: [{ id: 'main', default: true }, { id: 'scout' }] },
  tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
};

describe('through MCP', { concurrency: 1 }, () => {
  for (const harness of HARNESSES) {
    it(`[MD13] ${harness.name} lists, sends with a reply, spawns and waits, and answers a message`, async (t) => {
      const world = await startWorld(t, { agents: false, config: CONFIG });
      const model = await startModelEndpoint();
      t.after(() => model.close());
      const { url, token = '' } = world.gateway;
      const run = (prompt: string): Promise<HarnessRun> =>
        runHarness(t, harness, { gateway: { url, token }, modelUrl: model.url, prompt });
      const told = (what: HarnessRun): string =>
        `${what.output.slice(-4000)}\nthe model was asked:\n${model.log.join('\n')}`;

      const first = await run(
        [
          'CALL sessions_list {}',
          'CALL sessions_send {"agentId":"scout","message":"SAY: all quiet","timeoutSeconds":30}',
          'CALL sessions_spawn {"task":"SAY: counted to ten"}',
          'CALL sessions_wait {"runIds":["$runId"],"timeoutSeconds":30}',
          'REPLY the end: $reply',
        ].join('\n'),
      );
      assert.match(first.output, /the end: counted to ten/, told(first));
      const [message] = await world.history('agent:scout:main');
      const { sourceSessionKey } = (message as UserMessage).provenance ?? {};
      assert.equal(sourceSessionKey, harness.sessionKey);
      await world.quiet();

      const asked = world.tool(
        'sessions_send',
        { sessionKey: harness.sessionKey, message: 'are you there?', timeoutSeconds: 120 },
        'agent:scout:main',
      );
      const second = await run(
        [
          'CALL sessions_inbox {}',
          'CALL sessions_inbox {"reply":{"messageId":"$messageId","text":"I am here"}}',
          'REPLY answered',
        ].join('\n'),
      );
      const { status, reply } = await asked;
      assert.deepEqual({ status, reply }, { status: 'ok', reply: 'I am here' }, told(second));
    });
  }
});
