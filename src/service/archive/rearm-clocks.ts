import type { ServiceContext } from '../context.ts';
import { armArchiveJob } from './archive-clock.ts';

const PAGE = 200;

/** Sees to it that every session with a time to be archived has its job, as after a restore. */
export async function rearmClocks({ store }: Pick<ServiceContext, 'store'>): Promise<void> {
  let afterKey = '';
  for (;;) {
    const clocks = await store.read((tx) => tx.sessions.clocks(afterKey, PAGE));
    const last = clocks.at(-1);
    if (last === undefined) return;
    await store.write('rearm-clocks', async (tx) => {
      for (const { key } of clocks) {
        // the row as it is now: another gateway may have moved it
        const session = await tx.sessions.get(key);
        if (session === undefined || session.archiveAt === null) continue;
        await armArchiveJob(tx, { key, archiveAt: session.archiveAt });
      }
    });
    afterKey = last.key;
  }
}
