/** `sessions.patch` (B10.4): the settings of one session. Lineage and counters cannot be patched. */
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { formatModel, resolveModel } from '../../core/models.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import { THINKING_LEVELS } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { ServiceContext } from '../context.ts';
import { lookUpForOperator } from './resolve-caller.ts';
import type { PatchSession } from '../services.ts';
import { createRowViewer, toRowView } from './session-row-view.ts';
import { ensureSession } from './session-rows.ts';

const PATCHABLE = [
  'label',
  'displayName',
  'model',
  'thinkingLevel',
  'verboseLevel',
  'reasoningLevel',
  'elevatedLevel',
  'sendPolicy',
  'queueMode',
  'queueDebounceMs',
  'queueCap',
  'queueDrop',
] as const;

/**
 * Stores the given settings and returns the session as it is now; `null` clears one. The session
 * must exist or be an agent's main one. The order of lists does not change by it.
 */
export async function patchSession(
  context: Pick<ServiceContext, 'store' | 'config' | 'events' | 'stateDir'>,
  caller: OperatorCaller,
  patch: PatchSession,
): Promise<{ key: string; entry: Record<string, unknown> }> {
  const config = context.config();
  const changes = checkedChanges(config, patch);
  const { row, state } = await context.store.write('patch-session', async (tx) => {
    const { key, agentId, closure } = await lookUpForOperator(tx, config, patch.key);
    if (closure === 'deleted') {
      throw new GatewayError('not_found', `session ${key} is deleted; see sessions.list`);
    }
    const before = await ensureSession(tx, config, { key, agentId });
    await tx.sessions.update(key, changes);
    await auditPatch(tx, { caller, before, changes });
    tx.signal({ type: 'session', sessionKey: key });
    const states = await tx.lanes.states([key]);
    return { row: { ...before, ...changes }, state: states.get(key) ?? 'idle' };
  });
  context.events.emit({ type: 'session_changed', sessionKey: row.key });
  const viewer = createRowViewer({ config, stateDir: context.stateDir, agentId: undefined });
  return { key: row.key, entry: { ...toRowView(row, { viewer, state }), ...overridesOf(row) } };
}

/** By the names of the settings: a label is content. Values that were there already change nothing. */
async function auditPatch(
  tx: WriteTx,
  patched: { caller: OperatorCaller; before: SessionRow; changes: Partial<SessionRow> },
): Promise<void> {
  const { caller, before, changes } = patched;
  const settings = PATCHABLE.filter(
    (name) => changes[name] !== undefined && changes[name] !== before[name],
  );
  if (settings.length === 0) return;
  await audit(tx, {
    actor: operatorName(caller),
    action: 'sessions.patch',
    subjectKind: 'session',
    subjectId: before.key,
    sessionKey: before.key,
    detail: { settings: settings.join(' ') },
  });
}

function checkedChanges(config: Config, patch: PatchSession): Partial<SessionRow> {
  const given = Object.entries(patch).filter(
    ([name, value]) => name !== 'key' && value !== undefined,
  );
  const unknown = given.find(([name]) => !PATCHABLE.some((known) => known === name));
  if (unknown !== undefined)
    throw invalid(`${unknown[0]} cannot be patched; patchable: ${PATCHABLE.join(', ')}`);
  if (given.length === 0) throw invalid(`nothing to change; patchable: ${PATCHABLE.join(', ')}`);
  const changes: Partial<SessionRow> = Object.fromEntries(
    given.map(([name, value]) => [name, tidy(name, value)]),
  );
  if (typeof changes.model === 'string') {
    const resolved = resolveModel(config, changes.model);
    if (!resolved.ok) throw invalid(resolved.error);
    changes.model = formatModel(resolved.model);
  }
  const { thinkingLevel, sendPolicy } = changes;
  if (thinkingLevel && !THINKING_LEVELS.includes(thinkingLevel))
    throw invalid(`thinkingLevel must be one of ${THINKING_LEVELS.join(', ')}, or null`);
  if (sendPolicy && sendPolicy !== 'allow' && sendPolicy !== 'deny')
    throw invalid('sendPolicy must be "allow", "deny" or null');
  return changes;
}

function tidy(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (text === '') throw invalid(`${name} must not be blank; pass null to clear it`);
  return text;
}

/** What the session itself sets, `null` = inherited, so that a reader can tell an override from a default. */
function overridesOf(row: SessionRow): Record<string, unknown> {
  return { overrides: Object.fromEntries(PATCHABLE.map((name) => [name, row[name]])) };
}

function invalid(text: string): GatewayError {
  return new GatewayError('invalid_request', `sessions.patch: ${text}`);
}
