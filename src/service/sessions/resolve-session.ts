/** `sessions.resolve` (B10.4): the canonical key of what a key, a sessionId or a label names. */
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionResolved } from '../../protocol/answers/session-answers.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { briefly } from '../../util/briefly.ts';
import type { ServiceContext } from '../context.ts';
import { refuseOtherAgent } from './operator-place.ts';
import { lookUpForOperator } from './resolve-caller.ts';

/** One of key, sessionId and label is there. */
export interface ResolveSession {
  key?: string;
  sessionId?: string;
  label?: string;
  /** the session has to be one of this agent */
  agentId?: string;
  /** and one that this session has spawned, at any depth */
  spawnedBy?: string;
}

/** Sessions of one label that are looked at below an ancestor. */
const LABEL_CANDIDATES = 500;
/** Keys that a refusal names. */
const SHOWN_KEYS = 5;

/** Returns the session, or rejects `not_found` or `invalid_request` and says which there are. */
export function resolveSession(
  { store, config: current }: Pick<ServiceContext, 'store' | 'config'>,
  query: ResolveSession,
): Promise<SessionResolved> {
  const config = current();
  const { label, spawnedBy } = query;
  const name = query.key ?? query.sessionId ?? '';
  return store.read(async (tx) => {
    const ancestorKey =
      spawnedBy === undefined ? undefined : (await lookUpForOperator(tx, config, spawnedBy)).key;
    if (label !== undefined)
      return byLabel(tx, { label: label.trim(), agentId: query.agentId, ancestorKey });
    return byName(tx, config, { name, agentId: query.agentId, ancestorKey });
  });
}

interface Narrowed {
  agentId: string | undefined;
  ancestorKey: string | undefined;
}

async function byName(
  tx: ReadTx,
  config: Config,
  { name, agentId, ancestorKey }: Narrowed & { name: string },
): Promise<SessionResolved> {
  const place = refuseOtherAgent(agentId, await lookUpForOperator(tx, config, name));
  if (ancestorKey === undefined || (await tx.sessions.isDescendant(ancestorKey, place.key)))
    return place;
  throw new GatewayError(
    'not_found',
    `session ${place.key} was not spawned by ${ancestorKey}; leave spawnedBy out`,
  );
}

async function byLabel(
  tx: ReadTx,
  { label, ...narrowed }: Narrowed & { label: string },
): Promise<SessionResolved> {
  const rows = await labelled(tx, { label, ...narrowed });
  const [only, second] = rows;
  if (only === undefined)
    throw new GatewayError('not_found', `label "${briefly(label)}" not found; see sessions.list`);
  if (second === undefined) return { key: only.key, agentId: only.agentId };
  const keys = rows.slice(0, SHOWN_KEYS).map(({ key }) => key);
  const more = rows.length > SHOWN_KEYS ? ', …' : '';
  throw new GatewayError(
    'invalid_request',
    `label "${briefly(label)}" is ambiguous; pass one of these keys, or agentId or spawnedBy: ${keys.join(', ')}${more}`,
    { details: { candidates: keys } },
  );
}

/** As many as are needed to tell one from several. */
async function labelled(
  tx: ReadTx,
  { label, agentId, ancestorKey }: Narrowed & { label: string },
): Promise<SessionRow[]> {
  const owner = agentId?.trim().toLowerCase();
  const limit = SHOWN_KEYS + 1;
  if (ancestorKey === undefined) {
    const ofAgent = owner === undefined ? {} : { agentId: owner };
    return tx.sessions.findByLabel({ label, ...ofAgent, limit });
  }
  const rows: SessionRow[] = [];
  for (const key of await tx.sessions.labelledBelow({
    label,
    ancestorKey,
    limit: LABEL_CANDIDATES,
  })) {
    const row = await tx.sessions.get(key);
    if (row !== undefined && (owner === undefined || row.agentId === owner)) rows.push(row);
    if (rows.length === limit) break;
  }
  return rows;
}
