/** The rows of what a spawn has put into the workspace of its child, and what reads and writes them. */

/** The folder with the attachments of one child (A17). */
export interface AttachmentRow {
  /** name of the folder below `.openclaw/attachments` */
  folderId: string;
  childKey: string;
  /** whose workspace it is in */
  agentId: string;
  /** `{files: AttachmentFacts[]}` as JSON */
  filesJson: string;
  /** `leaving`: a job removes it; `gone`: it was removed */
  state: 'kept' | 'leaving' | 'gone';
  createdAt: number;
}

/** Says which store wrote a folder; there is one row. */
export interface StoreIdentityRow {
  id: string;
}

export interface AttachmentReads {
  get(folderId: string): Promise<AttachmentRow | undefined>;
  ofChild(childKey: string): Promise<AttachmentRow | undefined>;
  /** The ids among these whose folder is not gone. */
  presentAmong(folderIds: readonly string[]): Promise<string[]>;
  /** Names this store among all there are; the same for all its gateways. */
  storeId(): Promise<string>;
}

export interface AttachmentWrites extends AttachmentReads {
  insert(row: AttachmentRow): Promise<void>;
  update(folderId: string, patch: Pick<AttachmentRow, 'state'>): Promise<void>;
  remove(folderId: string): Promise<void>;
}
