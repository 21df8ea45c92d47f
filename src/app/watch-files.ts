import { unwatchFile, watchFile } from 'node:fs';

/**
 * Calls `onChange` some time after one of the files was written, replaced, made or removed; returns
 * the way to stop. Looks at their state now and then: a folder watch would wake with every commit of
 * the store beside them, and would lose a file that is replaced through a link.
 */
export function watchFiles(
  paths: readonly string[],
  { intervalMs, onChange }: { intervalMs: number; onChange: () => void },
): () => void {
  const listener = () => onChange();
  for (const path of paths) watchFile(path, { interval: intervalMs, persistent: false }, listener);
  return () => {
    for (const path of paths) unwatchFile(path, listener);
  };
}
