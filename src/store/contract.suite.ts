/** What every store must do. Each implementation registers this suite in a test file of its own. */
import { describe } from 'node:test';
import { budgetsContract } from './contract/budgets.suite.ts';
import { attachmentsContract } from './contract/attachments.suite.ts';
import { callsContract } from './contract/calls.suite.ts';
import { devicesContract } from './contract/devices.suite.ts';
import { entriesContract } from './contract/entries.suite.ts';
import { followUpsContract } from './contract/follow-ups.suite.ts';
import { lanesContract } from './contract/lanes.suite.ts';
import { purgeContract } from './contract/purge.suite.ts';
import { runsContract } from './contract/runs.suite.ts';
import type { OpenHarness } from './contract/samples.suite.ts';
import { searchContract } from './contract/search.suite.ts';
import { sessionsContract } from './contract/sessions.suite.ts';
import { usageContract } from './contract/usage.suite.ts';
import { unitsContract } from './contract/units.suite.ts';

/** Registers the contract for the stores that `open` makes, an empty one at each call. */
export function storeContract(name: string, open: OpenHarness): void {
  describe(`store contract on ${name}`, { concurrency: false }, () => {
    unitsContract(open);
    sessionsContract(open);
    entriesContract(open);
    searchContract(open);
    lanesContract(open);
    runsContract(open);
    followUpsContract(open);
    usageContract(open);
    budgetsContract(open);
    purgeContract(open);
    devicesContract(open);
    attachmentsContract(open);
    callsContract(open);
  });
}
