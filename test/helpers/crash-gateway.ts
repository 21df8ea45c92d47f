/**
 * A gateway as a process of its own, for tests that kill it:
 * `node test/helpers/crash-gateway.ts --state-dir DIR [--port N] [--crash unit:before|after:n] [--file-crash call:before|after:n] [--fail unit] [--database URL] [--chat URL]`.
 * Prints one JSON line with its address once it answers. Stops in order at SIGTERM, and dies with its parent.
 */
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { createLogger } from '../../src/app/create-logger.ts';
import { startGateway } from '../../src/app/start-gateway.ts';
import { dieAtFileStep, parseCrashPoint, withCrashPoint } from './crash-point.ts';
import { testChatAdapters, withInbox } from './test-chat-adapters.ts';

const { values } = parseArgs({
  options: {
    'state-dir': { type: 'string' },
    port: { type: 'string', default: '0' },
    crash: { type: 'string' },
    'file-crash': { type: 'string' },
    fail: { type: 'string' },
    database: { type: 'string' },
    chat: { type: 'string' },
  },
});
// The parent holds the other end of this pipe; the kernel closes it however the parent ends.
process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume();
if ('unref' in process.stdin) process.stdin.unref();

const crash = values.crash === undefined ? undefined : parseCrashPoint(values.crash);
if (values['file-crash'] !== undefined) dieAtFileStep(parseCrashPoint(values['file-crash']));
const gateway = await startGateway({
  stateDir: values['state-dir'],
  port: Number(values.port),
  env: values.database === undefined ? {} : { TRUNKLINE_DATABASE_URL: values.database },
  logger: createLogger('warn'),
  ...(values.chat === undefined
    ? {}
    : {
        channels: testChatAdapters(values.chat).map((each) => withInbox(each, values.chat ?? '')),
      }),
  wrapStore: (store) => withCrashPoint(store, { crash, failing: values.fail }),
});
process.once('SIGTERM', () => void gateway.stop('SIGTERM'));
process.stdout.write(
  `${JSON.stringify({ url: gateway.url, port: gateway.port, token: gateway.token })}\n`,
);
// A killed process would not leave its compiled code to the next one.
flushCompileCache();
