/**
 * A gateway of a campaign, as a process of its own that waits for its turn and is then killed:
 * `node test/chaos/chaos-gateway.ts --state-dir DIR --port N --channels URL --ledger FILE [--database URL] [--break NAME]`.
 */
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { createLogger } from '../../src/app/create-logger.ts';
import { startGateway } from '../../src/app/start-gateway.ts';
import { type Break, breakChannels, breakStore } from './breaks.ts';
import { chaosAdapters } from './chaos-adapters.ts';
import { dieWithParent, tellReady, waitForBegin } from './child-program.ts';
import { lateAfterPause } from './late-units.ts';
import { witnessHandOvers } from './witness.ts';

const { values } = parseArgs({
  options: {
    'state-dir': { type: 'string' },
    port: { type: 'string', default: '0' },
    channels: { type: 'string', default: '' },
    ledger: { type: 'string', default: '' },
    database: { type: 'string' },
    break: { type: 'string' },
  },
});
const { database } = values;
const broken = values.break as Break | undefined;

dieWithParent();
// What is loaded at its first use would be most of a short life.
await import('../../src/agent/embedded/run-turn.ts');
if (database !== undefined) await import('../../src/store/postgres/open-postgres-store.ts');
// A killed process would not leave its compiled code to the next one.
flushCompileCache();
await waitForBegin();
const gateway = await startGateway({
  stateDir: values['state-dir'],
  port: Number(values.port),
  env: database === undefined ? {} : { TRUNKLINE_DATABASE_URL: database },
  logger: createLogger('error'),
  wrapStore: (store) => {
    const witnessed = witnessHandOvers(breakStore(store, broken), values.ledger);
    return database === undefined ? witnessed : lateAfterPause(witnessed, values.ledger);
  },
  channels: breakChannels(chaosAdapters(values.channels), broken),
});
process.once('SIGTERM', () => void gateway.stop('SIGTERM'));
tellReady({ url: gateway.url, port: gateway.port, token: gateway.token });
