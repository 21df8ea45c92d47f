import { z } from 'zod';
import { SESSION_TOOL_ARGS } from './session-tool-arg-schemas.ts';
import type { SessionToolName } from './session-tools.ts';

/** A session tool as a model sees it; the form of `ToolSpec` in `agent/`. */
export interface SessionToolSpec {
  name: SessionToolName;
  description: string;
  /** JSON Schema of the arguments */
  parameters: Record<string, unknown>;
}
/** Which agents the caller's agent may spawn. */
export interface SpawnTargetIds {
  ids: readonly string[];
  allowAny: boolean;
}

const TEXTS: Record<SessionToolName, { description: string; parameters: Record<string, string> }> =
  {
    sessions_list: {
      description:
        'List the sessions you may see, newest first. visibility.restricted true: others may exist. Next page: pass nextCursor as cursor.',
      parameters: {
        kinds: '',
        limit: 'default 100, max 200',
        cursor: '',
        activeMinutes: 'only updated in the last N minutes',
        messageLimit: 'add the last N messages of each, max 20',
        agentId: '',
        label: '',
        search: 'part of key, label or name',
        spawnedBy: 'parent session key',
        state: '',
        archived: '',
      },
    },
    sessions_history: {
      description:
        'Read the newest messages of a session, oldest first. pending: accepted, not yet answered. Older ones: pass nextCursor as cursor.',
      parameters: {
        sessionKey: 'key or sessionId from sessions_list; main = your main session',
        limit: 'default 50',
        cursor: '',
        includeTools: 'also tool results',
      },
    },
    sessions_send: {
      description:
        'Send a message to another session and wait for the reply. Address exactly one: sessionKey, label or agentId. status timeout: it was delivered and still runs; do not resend, read sessions_history later. ok says nothing about delivery to a chat.',
      parameters: {
        sessionKey: 'key or sessionId',
        label: 'exact label; agentId narrows it',
        agentId: 'main session of this agent',
        message: '',
        timeoutSeconds: 'wait, default 30; 0 = do not wait',
        mode: 'note: joins its next turn, starts none',
        maxTurns: 'reply-back turns, 0-5',
      },
    },
    sessions_spawn: {
      description:
        'Start a sub-agent on a task in a new session. Returns at once; the result is announced to you when it is done: do not poll or spawn it again.',
      parameters: {
        task: 'all it needs to know',
        label: '',
        agentId: '',
        model: 'provider/id',
        thinking: '',
        runTimeoutSeconds: 'stop it after this; 0 = no limit',
        budget: 'for it and all it spawns',
        cleanup: 'delete = no session is left once announced',
        attachments: 'files for its workspace: {name, content, encoding?: "base64"}',
      },
    },
    agents_list: {
      description: 'List the agent ids that sessions_spawn may target.',
      parameters: {},
    },
    sessions_wait: {
      description:
        'Wait until runs end and get their replies. pending: still going; wait again or do without.',
      parameters: {
        runIds: '',
        sessionKeys: 'the newest run of each session',
        mode: 'default all',
        timeoutSeconds: 'default 30, max 3600; 0 = look only',
      },
    },
    sessions_stop: {
      description:
        'Stop a run and everything it started. Give one: sessionKey (its current run) or runId.',
      parameters: { sessionKey: 'key or sessionId', runId: '' },
    },
    sessions_search: {
      description:
        'Find messages in the sessions you may see, newest first. All words must be in the message. Read around a hit: sessions_history of its sessionId. Next page: pass nextCursor as cursor.',
      parameters: {
        query: 'words, "a phrase", begin*',
        limit: 'default 20, max 100',
        cursor: '',
        sessionKey: 'only this session, archived too',
      },
    },
    sessions_inbox: {
      description:
        'Take the message that other sessions or people sent you, and answer it: its sender waits for your reply. It stays yours until you reply; the next one comes with the answer. notes need no reply.',
      parameters: {
        reply: 'answers the message you have; text "" = no reply',
        limit: 'notes, default and max 50',
      },
    },
  };

/**
 * Returns the spec of one session tool for an agent with these spawn targets. Parameters that could
 * only be refused or have no effect are left out; `parseToolArgs` still knows them.
 */
export function sessionToolSpec(name: SessionToolName, targets: SpawnTargetIds): SessionToolSpec {
  let spec = generalSpecs.get(name);
  if (spec === undefined) {
    spec = toSpec(name);
    generalSpecs.set(name, spec);
  }
  if (name !== 'sessions_spawn') return spec;
  // names the ids, so that the model does not guess one (BR-096)
  const agentId = spawnTargetSchema(targets);
  const properties = { ...(spec.parameters['properties'] as object), agentId };
  return { ...spec, parameters: { ...spec.parameters, properties } };
}

/** What is the same for every agent, made once: every turn asks, and a JSON Schema costs 0.1 ms. */
const generalSpecs = new Map<SessionToolName, SessionToolSpec>();

function toSpec(name: SessionToolName): SessionToolSpec {
  const { description, parameters: texts } = TEXTS[name];
  const full = z.toJSONSchema(SESSION_TOOL_ARGS[name], { io: 'input' });
  const properties: Record<string, unknown> = {};
  for (const [parameter, text] of Object.entries(texts)) {
    const trimmed = trim(full.properties?.[parameter]);
    properties[parameter] = text === '' ? trimmed : { ...trimmed, description: text };
  }
  const required = full.required ?? [];
  return {
    name,
    description,
    parameters: { type: 'object', properties, ...(required.length > 0 && { required }) },
  };
}

function spawnTargetSchema({ ids, allowAny }: SpawnTargetIds): Record<string, unknown> {
  // a long list would eat the context of every turn; agents_list has it
  const shown = ids.slice(0, 20);
  if (allowAny || ids.length > shown.length)
    return {
      type: 'string',
      description: `one of agents_list: ${shown.join(', ')}${ids.length > shown.length ? ', ...' : ''}`,
    };
  return { type: 'string', enum: shown };
}

const KEPT = ['type', 'enum', 'items', 'properties', 'required'];
/** Bounds and patterns stay with the parser: its error texts are clearer, and tokens are scarce (DESIGN 1.5). */
function trim(schema: unknown): Record<string, unknown> {
  if (typeof schema !== 'object' || schema === null) return {};
  const kept = Object.entries(schema).filter(([key]) => KEPT.includes(key));
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (key === 'items') return [key, trim(value)];
      return [key, key === 'properties' ? trimEach(value) : value];
    }),
  );
}

function trimEach(properties: unknown): Record<string, unknown> {
  const entries = Object.entries(properties ?? {});
  return Object.fromEntries(entries.map(([name, schema]) => [name, trim(schema)]));
}
