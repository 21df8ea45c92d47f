/** What a runtime is given for a run: context, prompt, model and tools, all made anew from rows. */
import type { AgentTool, Turn } from '../../agent/runtime.ts';
import { buildSystemPrompt } from '../../agent/system-prompt.ts';
import { type AgentSettings, findAgent, workspaceOf } from '../../core/agents.ts';
import { isSubagentKey, toldKey } from '../../core/keys.ts';
import { type ModelRef, modelOfSession } from '../../core/models.ts';
import { type ContextMessage, toModelContext } from '../../core/model-context.ts';
import { attachmentsContext } from '../../core/prompts.ts';
import { mayOfferServer, offeredTools, toolClosedBy } from '../../core/tool-policy.ts';
import { parseStoredMessage, parseStoredObject } from '../../core/stored-message.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Message } from '../../protocol/message.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { EntryRow } from '../../store/transcript-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunOptions } from './accept-run.ts';
import type { ClaimedRun } from './claim-run.ts';
import type { RunContext } from '../context.ts';
import { filesOf } from '../attachments/attach-files.ts';
import { relDirOf } from '../attachments/attachment-folder.ts';
import { ownPromptOf, type TellKey } from './own-prompt.ts';
import { toolQuery } from '../sessions/closed-tool.ts';
import { type OnUnreadable, unreadableReporter } from '../unreadable-rows.ts';

export interface BuiltTurn {
  turn: Turn;
  offered: ReadonlyMap<string, AgentTool>;
  /** Returns what keeps a tool that there is out of this turn: a setting, or a reason. */
  closedBy: (name: string) => string | undefined;
  /** Returns why a tool is not there, undefined when nothing is known of it. */
  whyMissing: (name: string) => string | undefined;
  workspace: string;
}

/** Returns the turn of a claimed run; called anew at each attempt, it gives the same from the same rows. */
export async function buildTurn(context: RunContext, claimed: ClaimedRun): Promise<BuiltTurn> {
  const { run, session } = claimed;
  const config = context.config();
  const agent = findAgent(config, session.agentId);
  if (agent === undefined) {
    throw new GatewayError(
      'config',
      `agent ${session.agentId} is not configured; add it to agents.list`,
    );
  }
  const onUnreadable = unreadableReporter(context);
  const tell: TellKey = (key) => toldKey(key, config.session.scope);
  const options = optionsOf(run, onUnreadable);
  const { messages, attached } = await context.store.read(async (tx) => ({
    messages: await contextMessages(tx, { run, onUnreadable, tell }),
    attached: await attachedTo(tx, { run, session }),
  }));
  const model = modelOfSession(config, agent, options.model ?? session.model);
  const { offered, closedBy, whyMissing } = await offeredTo(context, {
    config,
    run,
    session,
    model,
  });
  return {
    offered,
    closedBy,
    whyMissing,
    workspace: workspaceOf(config, { agentId: agent.id, stateDir: context.stateDir }),
    turn: {
      runId: run.runId,
      sessionKey: session.key,
      agentId: agent.id,
      model,
      thinking: options.thinking ?? session.thinkingLevel ?? agent.thinking,
      attempt: claimed.attempt,
      systemPrompt: systemPromptOf({
        agent,
        sessionKey: session.key,
        toldAs: tell(session.key),
        extras: [attached, options.extraSystemPrompt],
      }),
      messages,
      tools: [...offered.values()].map((tool) => tool.specFor?.(agent.id) ?? tool.spec),
    },
  };
}

/** Announce turns get no tools (A10). */
async function offeredTo(
  context: RunContext,
  {
    config,
    run,
    session,
    model,
  }: { config: Config; run: RunRow; session: SessionRow; model: ModelRef },
): Promise<Pick<BuiltTurn, 'offered' | 'closedBy' | 'whyMissing'>> {
  const isAnnounce = run.purpose === 'exchange_announce' || run.purpose === 'spawn_announce';
  const queryOf = (available: readonly string[]) =>
    toolQuery(config, { session, model, available });
  const { tools, whyMissing } = await context.toolsOf({
    agentId: session.agentId,
    // nothing is started for what could not be called
    wantsServer: (server) => !isAnnounce && mayOfferServer(queryOf([]), server),
  });
  const query = queryOf([...tools.keys()]);
  const names = new Set(isAnnounce ? [] : offeredTools(query));
  return {
    offered: new Map([...tools].filter(([name]) => names.has(name))),
    closedBy: (name) => {
      if (!tools.has(name)) return undefined;
      return isAnnounce ? 'an announce turn has no tools' : toolClosedBy(query, name);
    },
    whyMissing,
  };
}

function systemPromptOf({
  agent,
  sessionKey,
  toldAs,
  extras,
}: {
  agent: AgentSettings;
  sessionKey: string;
  toldAs: string;
  extras: readonly (string | undefined)[];
}): string {
  const prompt = buildSystemPrompt({
    agentId: agent.id,
    ...(agent.name === undefined ? {} : { agentName: agent.name }),
    sessionKey: toldAs,
    isSubagent: isSubagentKey(sessionKey),
  });
  return [prompt, ...extras.filter((extra) => extra !== undefined)].join('\n\n');
}

/** Files stay in view as long as they are there; an announce turn has no tools to read them with. */
async function attachedTo(
  tx: ReadTx,
  { run, session }: { run: RunRow; session: SessionRow },
): Promise<string | undefined> {
  if (!isSubagentKey(session.key) || run.purpose === 'spawn_announce') return undefined;
  const row = await tx.attachments.ofChild(session.key);
  if (row?.state !== 'kept') return undefined;
  return attachmentsContext({ relDir: relDirOf(row.folderId), files: filesOf(row) });
}

async function contextMessages(
  tx: ReadTx,
  { run, onUnreadable, tell }: { run: RunRow; onUnreadable: OnUnreadable; tell: TellKey },
): Promise<Message[]> {
  const sessionId = must(run.sessionId, `run ${run.runId} is not claimed`);
  const entries = await tx.entries.context(sessionId);
  return toModelContext(
    entries
      .flatMap((entry) => toContextMessage(entry, onUnreadable))
      .map((entry) => ({ ...entry, message: withToldSource(entry.message, tell) })),
    await ownPromptOf(tx, { run, tell }),
  );
}

function withToldSource(message: Message, tell: TellKey): Message {
  if (message.role !== 'user' || message.provenance === undefined) return message;
  const sourceSessionKey = tell(message.provenance.sourceSessionKey);
  return { ...message, provenance: { ...message.provenance, sourceSessionKey } };
}

/** The model goes on without a message that cannot be read; open calls get a result elsewhere (BR-162). */
function toContextMessage(entry: EntryRow, onUnreadable: OnUnreadable): ContextMessage[] {
  const { runId, sessionId, seq } = entry;
  const skip = (): [] => {
    onUnreadable({ column: 'entries.json', id: `${sessionId} ${seq}` });
    return [];
  };
  if (entry.type === 'message') {
    const message = parseStoredMessage(entry.json);
    return message === undefined ? skip() : [{ message, runId }];
  }
  if (entry.type !== 'compaction' && entry.type !== 'custom_message') return [];
  const stored = parseStoredObject(entry.json);
  if (stored === undefined) return skip();
  const text = otherText(stored);
  if (text === undefined) return [];
  return [{ message: { role: 'user', content: text, timestamp: entry.createdAt }, runId: null }];
}

/** Of the other entry types only these two speak to the model (B11.2). */
function otherText({ summary, content }: Record<string, unknown>): string | undefined {
  if (typeof summary === 'string') return `[summary of the earlier conversation]\n${summary}`;
  return typeof content === 'string' ? content : undefined;
}

function optionsOf(run: RunRow, onUnreadable: OnUnreadable): RunOptions {
  if (run.optionsJson === null) return {};
  const options = parseStoredObject(run.optionsJson);
  if (options === undefined) onUnreadable({ column: 'runs.options_json', id: run.runId });
  return options ?? {};
}
