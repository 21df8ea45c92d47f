/** An import into a state directory that no gateway uses at the moment. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Environment } from '../config/env-references.ts';
import { loadConfig } from '../config/load-config.ts';
import { defaultAgentId, listAgents } from '../core/agents.ts';
import { importOpenClaw } from '../service/import-openclaw/import-openclaw.ts';
import type { ImportReport } from '../service/import-openclaw/import-report.ts';
import { systemClock } from '../util/clock.ts';
import { silentLogger } from '../util/logger.ts';
import { openStore } from './open-store.ts';

export interface ImportPlace {
  /** state folder of the other program */
  dir: string;
  stateDir?: string | undefined;
  configPath?: string | undefined;
  env?: Environment | undefined;
}

/** Imports into the state directory and returns the report. Rejects `unavailable` while a gateway uses it. */
export async function importIntoState(place: ImportPlace): Promise<ImportReport> {
  const loaded = loadConfig({ ...place, mayLackSecrets: true });
  const { config, configPath, stateDir, isConfigFound } = loaded;
  const { store, release } = await openStore(loaded, {
    logger: silentLogger,
    bootId: randomUUID(),
  });
  try {
    const { mainKey, scope } = config.session;
    return await importOpenClaw({
      dir: place.dir,
      store,
      now: systemClock.now(),
      // Without a configuration of our own the imported one says how its keys are read.
      ...(isConfigFound
        ? {
            keyRules: { mainKey, scope, defaultAgentId: defaultAgentId(config) },
            agentIds: listAgents(config).map((agent) => agent.id),
          }
        : {}),
      config: { path: configPath, besidePath: join(stateDir, 'trunkline.imported.json') },
    });
  } finally {
    await release();
  }
}
