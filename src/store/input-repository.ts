/** The rows of accepted messages, before and after they are in a transcript, and what reads and writes them. */

export type InputKind =
  /** a person's or an operator's message */
  | 'message'
  /** a primary message of `sessions_send` */
  | 'inter_session'
  /** a turn of an exchange */
  | 'exchange'
  /** a child's task */
  | 'task'
  /** a prompt the gateway made itself: announce turns */
  | 'prompt'
  /**
   * a message of `sessions_send` that joins the next turn and starts none (`mode: note`); without a
   * source, words that the operator put in as the agent's (`chat.inject`)
   */
  | 'note'
  /** a child's announced result, which joins the next turn too */
  | 'announce'
  /** what was dropped because too many messages waited; it joins the next turn too (B12) */
  | 'summary';

/** One accepted message before (and after) it is in a transcript. */
export interface InputRow {
  /** is the runId given at acceptance */
  inputId: string;
  sessionKey: string;
  /** order in the lane */
  seq: number;
  kind: InputKind;
  /** null for a note until it is appended by a run */
  runId: string | null;
  text: string;
  /** `Provenance` as JSON, or null */
  provenanceJson: string | null;
  /** `dropped`: its run ended without a turn of it, and it never enters a transcript */
  state: 'pending' | 'appended' | 'dropped';
  /** who accepted under which name: `<caller> <method>`, null = no key */
  idempotencyScope: string | null;
  idempotencyKey: string | null;
  /** sha256 of the content that the key names */
  contentHash: string | null;
  /** root of the message tree, for the loop limits (A11) */
  rootRunId: string;
  /** canonical key of the sending session, null for a person or operator */
  sourceKey: string | null;
  acceptedAt: number;
  appendedAt: number | null;
}

export interface InputReads {
  get(inputId: string): Promise<InputRow | undefined>;
  findByIdempotencyKey(scope: string, key: string): Promise<InputRow | undefined>;
  /** Inputs not yet in a transcript, in lane order. */
  pending(sessionKey: string, limit: number): Promise<InputRow[]>;
  /** Those of them that have no turn of their own, in lane order. */
  pendingNotes(sessionKey: string, limit: number): Promise<InputRow[]>;
  /** The oldest of one kind that is not yet in a transcript. */
  firstPending(sessionKey: string, kind: InputKind): Promise<InputRow | undefined>;
  /** Routed messages under a root (kinds `inter_session`, `note` and `exchange`). */
  countUnderRoot(rootRunId: string): Promise<number>;
  /** Primary messages from one session to another under a root. */
  countEdge(rootRunId: string, sourceKey: string, targetKey: string): Promise<number>;
}

export interface InputWrites extends InputReads {
  insert(row: InputRow): Promise<void>;
  /** `runId`: whose turn took it in; null: it entered a transcript that no turn will take it into. */
  markAppended(inputId: string, runId: string | null, at: number): Promise<void>;
  /** Its run ended before it began: it never enters a transcript. */
  markDropped(inputId: string): Promise<void>;
  /** Changes the text of an input that is not in a transcript yet. */
  rewrite(inputId: string, text: string): Promise<void>;
}
