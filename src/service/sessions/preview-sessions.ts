/** `sessions.preview` (B10.4): the newest messages of several sessions, in few words. */
import { toPreviewItem } from '../../core/preview-item.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionPreview, SessionPreviews } from '../../protocol/answers/session-answers.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { type OnUnreadable, unreadableReporter } from '../unreadable-rows.ts';
import { READ_MAX_BYTES, readMessages } from './read-messages.ts';
import { findForOperator } from './resolve-caller.ts';

export interface PreviewSessions {
  keys: string[];
  /** messages of each */
  limit?: number;
  /** characters of each message */
  maxChars?: number;
}

const DEFAULT_LIMIT = 12;
const LIMIT_MAX = 50;
const DEFAULT_CHARS = 240;
const CHARS_MAX = 2000;

/** Returns a preview for each key, in their order; a session that is not there is no error. */
export function previewSessions(
  context: Pick<ServiceContext, 'store' | 'config' | 'clock' | 'logger'>,
  { keys, limit = DEFAULT_LIMIT, maxChars = DEFAULT_CHARS }: PreviewSessions,
): Promise<SessionPreviews> {
  const bounds: PreviewBounds = {
    limit: Math.min(limit, LIMIT_MAX),
    maxChars: Math.min(maxChars, CHARS_MAX),
    // one session with long messages leaves the others their part
    maxBytes: Math.floor(READ_MAX_BYTES / Math.max(1, keys.length)),
    onUnreadable: unreadableReporter(context),
  };
  const config = context.config();
  return context.store.read(async (tx) => {
    const previews: SessionPreview[] = [];
    for (const key of keys) previews.push(await previewOf(tx, config, { key, bounds }));
    return { ts: context.clock.now(), previews };
  });
}

interface PreviewBounds {
  limit: number;
  maxChars: number;
  maxBytes: number;
  onUnreadable: OnUnreadable;
}

async function previewOf(
  tx: ReadTx,
  config: Config,
  { key, bounds }: { key: string; bounds: PreviewBounds },
): Promise<SessionPreview> {
  const found = await findForOperator(tx, config, key);
  if (found.type !== 'session') return { key, status: 'missing', items: [] };
  const { maxChars, ...query } = bounds;
  const { placed } = await readMessages(tx, {
    sessionId: found.sessionId ?? '',
    includeTools: false,
    beforeSeq: undefined,
    ...query,
  });
  const items = placed.map(({ message }) => toPreviewItem(message, maxChars));
  return { key, status: items.length > 0 ? 'ok' : 'empty', items };
}
