/**
 * An import as a process of its own, for tests that kill it:
 * `node test/helpers/crash-import.ts --from DIR --state-dir DIR --crash unit:before|after:n`.
 */
import { parseArgs } from 'node:util';
import { openStore } from '../../src/app/open-store.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { importOpenClaw } from '../../src/service/import-openclaw/import-openclaw.ts';
import { silentLogger } from '../../src/util/logger.ts';
import { parseCrashPoint, withCrashPoint } from './crash-point.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    'state-dir': { type: 'string' },
    crash: { type: 'string' },
  },
});
const loaded = loadConfig({ stateDir: String(values['state-dir']), env: {}, mayLackSecrets: true });
const { store } = await openStore(loaded, { logger: silentLogger, bootId: 'import' });
await importOpenClaw({
  dir: String(values.from),
  store: withCrashPoint(store, {
    crash: parseCrashPoint(String(values.crash)),
    failing: undefined,
  }),
  now: Date.now(),
  config: { path: loaded.configPath, besidePath: `${loaded.stateDir}/trunkline.imported.json` },
});
