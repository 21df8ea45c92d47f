/** What an operator reads: every session, by canonical key (A1). Scopes are the door's business. */
import { defaultAgentId, listAgents } from '../../core/agents.ts';
import { planMaintenance } from '../../core/maintenance.ts';
import { LIST_LIMIT_MAX, LIST_MESSAGES_MAX } from '../../protocol/tools/tool-limits.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { SESSION_KINDS } from '../../protocol/words.ts';
import type { SessionKind, SessionState } from '../../protocol/words.ts';
import type { SessionScope } from '../../store/session-repository.ts';
import { countDue } from '../archive/count-due.ts';
import type { RunContext, ServiceContext } from '../context.ts';
import {
  nextPage,
  parseStart,
  toRowViews,
  updatedSince,
  DEFAULT_LIST_LIMIT,
} from './list-sessions.ts';
import type { ListContext } from './list-sessions.ts';
import { lookUpForOperator } from './resolve-caller.ts';
import { scanSessions } from './scan-sessions.ts';
import { filterSessions, isListed } from './session-filters.ts';
import type { SessionFilters } from './session-filters.ts';
import { createRowViewer } from './session-row-view.ts';
import { countUnreadable, unreadableReporter } from '../unreadable-rows.ts';
import type { OperatorListQuery, Services } from '../services.ts';

/** Returns one page of every session, newest first, under canonical keys. */
export async function listAllSessions(
  context: ListContext,
  query: OperatorListQuery,
): ReturnType<Services['listAllSessions']> {
  const config = context.config();
  const start = parseStart(context, query.cursor);
  if (!start.ok) throw new GatewayError('invalid_request', `sessions.list: ${start.error}`);
  const limit = Math.min(query.limit ?? DEFAULT_LIST_LIMIT, LIST_LIMIT_MAX);
  const { messageLimit } = query;
  const messages =
    messageLimit === undefined ? undefined : Math.min(messageLimit, LIST_MESSAGES_MAX);
  return context.store.read(async (tx) => {
    const filters = toFilters(query);
    if (query.spawnedBy !== undefined)
      filters.spawnedBy = (await lookUpForOperator(tx, config, query.spawnedBy)).key;
    const page = await scanSessions(tx, {
      scopes: [narrowestScope(filters)],
      keys: [],
      archived: query.archived === true,
      cursor: start.position,
      updatedSince: updatedSince(context, query.activeMinutes),
      limit,
      keep: (rows) =>
        filterSessions(tx, { rows: rows.filter((row) => isListed(row, config)), filters }),
    });
    const viewer = createRowViewer({ config, stateDir: context.stateDir, agentId: undefined });
    const views = await toRowViews(tx, {
      rows: page.rows,
      viewer,
      messageLimit: messages,
      isMasked: () => false,
      onUnreadable: unreadableReporter(context),
    });
    return {
      ts: context.clock.now(),
      count: page.rows.length,
      limitApplied: limit,
      ...views,
      sessions: views.sessions.map((row) => ({ ...row })),
      ...nextPage(context, page.next),
    };
  });
}

/** Walks as few rows as hold what the filters let through. */
function narrowestScope({ spawnedBy, agentId }: SessionFilters): SessionScope {
  if (spawnedBy !== undefined) return { type: 'below', ancestorKey: spawnedBy };
  return agentId === undefined ? { type: 'everything' } : { type: 'agent', agentId };
}

function toFilters(query: OperatorListQuery): SessionFilters {
  const { kinds, state, agentId, label, search } = query;
  const unknown = kinds?.find((kind) => !isKind(kind));
  if (unknown !== undefined)
    throw invalid(`kind "${unknown}" is unknown; known: ${SESSION_KINDS.join(', ')}`);
  if (state !== undefined && !isState(state))
    throw invalid(`state "${state}" is unknown; known: ${SESSION_STATES.join(', ')}`);
  return {
    ...(kinds !== undefined && { kinds: kinds.filter(isKind) }),
    ...(state !== undefined && { state }),
    ...(agentId !== undefined && { agentId: agentId.toLowerCase() }),
    ...(label !== undefined && { label }),
    ...(search !== undefined && { search }),
  };
}

/** Returns the configured agents (`agents.list`). */
export function listConfiguredAgents({
  config: currentConfig,
}: Pick<ServiceContext, 'config'>): ReturnType<Services['listConfiguredAgents']> {
  const config = currentConfig();
  return Promise.resolve({
    defaultId: defaultAgentId(config),
    mainKey: config.session.mainKey,
    scope: config.session.scope,
    agents: listAgents(config).map(({ id, name }) => ({ id, ...(name !== undefined && { name }) })),
  });
}

/** Returns how many sessions and runs there are, and the sessions that were active last. Holds no content. */
export async function readStatus(
  context: Pick<RunContext, 'store' | 'config' | 'clock' | 'toolServers'>,
): Promise<Record<string, unknown>> {
  const config = context.config();
  const mcpServers = context.toolServers?.() ?? [];
  const unreadableRows = countUnreadable(context.store);
  const { maintenance } = config.session;
  return context.store.read(async (tx) => {
    const scope = { type: 'everything' } as const;
    const query = { scope, archived: false, cursor: undefined, limit: RECENT_SESSIONS };
    const recent = (await tx.sessions.scan(query)).filter((row) => isListed(row, config));
    const states = await tx.lanes.states(recent.map((row) => row.key));
    return {
      ts: context.clock.now(),
      sessions: {
        count: await tx.sessions.count(),
        recent: recent.map(({ key, agentId, kind, updatedAt }) => {
          return { key, agentId, kind, updatedAt, state: states.get(key) ?? 'idle' };
        }),
      },
      runs: await tx.runs.countByState(),
      maintenance: {
        mode: maintenance.mode,
        due: await countDue(tx, planMaintenance(maintenance, context.clock.now())),
      },
      ...(unreadableRows > 0 && { unreadableRows }),
      ...(mcpServers.length > 0 && { mcpServers }),
    };
  });
}

const RECENT_SESSIONS = 10;
const SESSION_STATES = ['idle', 'queued', 'running', 'waiting'] as const;

function isState(state: string): state is SessionState {
  return SESSION_STATES.some((known) => known === state);
}

function isKind(kind: string): kind is SessionKind {
  return SESSION_KINDS.some((known) => known === kind);
}

function invalid(text: string): GatewayError {
  return new GatewayError('invalid_request', `sessions.list: ${text}`);
}
