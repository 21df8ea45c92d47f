/** Whether anything was written to a store, seen from outside. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { hashRows } from '../helpers/store-hash.ts';

/** One full look at the tables for so many refusals. */
const HASH_EVERY = 2000;

export class StoreWatch {
  readonly #db: DatabaseSync;
  readonly #counter;
  #refusals = 0;
  #known: { version: number; hash: string } | undefined;

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true });
    this.#counter = this.#db.prepare('pragma data_version');
  }

  /** Changes with every commit of another connection. */
  version(): number {
    return Number(this.#counter.get()?.['data_version']);
  }

  /** Throws when something was written since `before`; from time to time every row is looked at. */
  assertUnchanged(before: number, what: string): void {
    assert.equal(this.version(), before, `a refusal wrote to the store: ${what}`);
    this.#refusals += 1;
    if (this.#refusals % HASH_EVERY !== 0) return;
    const hash = hashRows(this.#db);
    if (this.#known?.version === before) assert.equal(hash, this.#known.hash, 'rows changed');
    this.#known = { version: before, hash };
  }

  close(): void {
    this.#db.close();
  }
}
