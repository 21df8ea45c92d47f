import type { AttachmentReads, AttachmentRow, AttachmentWrites } from '../attachment-repository.ts';
import { must } from '../../util/assert.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { folderId: string }) =>
  db.selectFrom('attachments').selectAll().where('folder_id', '=', p.folderId),
);

const OF_CHILD = defineQuery((db, p: { childKey: string }) =>
  db.selectFrom('attachments').selectAll().where('child_key', '=', p.childKey),
);

const REMOVE = defineQuery((db, p: { folderId: string }) =>
  db.deleteFrom('attachments').where('folder_id', '=', p.folderId),
);

const STORE_ID = defineQuery((db, _p: object) =>
  db.selectFrom('store_identity').select('id').orderBy('id').limit(1),
);

export class SqlAttachments implements AttachmentWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(folderId: string): Promise<AttachmentRow | undefined> {
    return this.#unit.first(BY_ID, { folderId });
  }

  ofChild(childKey: string): Promise<AttachmentRow | undefined> {
    return this.#unit.first(OF_CHILD, { childKey });
  }

  async presentAmong(folderIds: readonly string[]): ReturnType<AttachmentReads['presentAmong']> {
    const present: string[] = [];
    for (const folderId of folderIds) {
      const row = await this.get(folderId);
      if (row !== undefined && row.state !== 'gone') present.push(folderId);
    }
    return present;
  }

  async storeId(): Promise<string> {
    return must(await this.#unit.first(STORE_ID, {}), 'the store has no identity').id;
  }

  insert(row: AttachmentRow): Promise<void> {
    return this.#unit.insert('attachments', row);
  }

  update(folderId: string, patch: Pick<AttachmentRow, 'state'>): Promise<void> {
    return this.#unit.update('attachments', { name: 'folderId', value: folderId }, patch);
  }

  async remove(folderId: string): Promise<void> {
    await this.#unit.change(REMOVE, { folderId });
  }
}
