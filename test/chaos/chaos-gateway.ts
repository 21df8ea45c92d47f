/**
 * The gateway of a campaign, as a process of its own that waits for its turn and is then killed:
 * `node test/chaos/chaos-gateway.ts --state-dir DIR --port N --channels URL [--break NAME]`.
 */
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { createLogger } from '../../src/app/create-logger.ts';
import { startGateway } from '../../src/app/start-gateway.ts';
import { type Break, breakChannels, breakStore } from './breaks.ts';
import { chaosAdapters } from './chaos-adapters.ts';
import { dieWithParent, tellReady, waitForBegin } from './child-program.ts';

const { values } = parseArgs({
  options: {
    'state-dir': { type: 'string' },
    port: { type: 'string', default: '0' },
    channels: { type: 'string', default: '' },
    break: { type: 'string' },
  },
});
const broken = values.break as Break | undefined;

dieWithParent();
// What a turn loads at its first use would be most of a short life.
await import('../../src/agent/embedded/run-turn.ts');
// A killed process would not leave its compiled code to the next one.
flushCompileCache();
await waitForBegin();
const gateway = await startGateway({
  stateDir: values['state-dir'],
  port: Number(values.port),
  env: {},
  logger: createLogger('error'),
  wrapStore: (store) => breakStore(store, broken),
  channels: breakChannels(chaosAdapters(values.channels), broken),
});
process.once('SIGTERM', () => void gateway.stop('SIGTERM'));
tellReady({ url: gateway.url, port: gateway.port, token: gateway.token });
