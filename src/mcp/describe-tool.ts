/** A session tool in MCP's words: title, hints, schemas. */
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { SESSION_TOOL_ANSWERS } from '../protocol/tools/session-tool-answer-schemas.ts';
import { SESSION_TOOL_NAMES } from '../protocol/tools/session-tools.ts';
import type { SessionToolName } from '../protocol/tools/session-tools.ts';
import { isWaitingTool } from './wait-limit.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';

interface Traits {
  title: string;
  annotations: NonNullable<Tool['annotations']>;
  /** takes a key that names the job, so that a repeated call is done once */
  isKeyed?: true;
}

const READS = { readOnlyHint: true, openWorldHint: false };
/** Adds something and takes nothing away. */
const ADDS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };

const TRAITS: Record<SessionToolName, Traits> = {
  sessions_list: { title: 'List sessions', annotations: READS },
  sessions_history: { title: 'Read a session', annotations: READS },
  sessions_send: {
    title: 'Send a message to a session',
    annotations: { ...ADDS, openWorldHint: true },
    isKeyed: true,
  },
  sessions_spawn: {
    title: 'Start a sub-agent',
    annotations: { ...ADDS, openWorldHint: true },
    isKeyed: true,
  },
  agents_list: { title: 'List agents to spawn', annotations: READS },
  sessions_wait: { title: 'Wait for runs', annotations: READS },
  sessions_stop: {
    title: 'Stop a run',
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    isKeyed: true,
  },
  sessions_search: { title: 'Search messages', annotations: READS },
  sessions_inbox: {
    title: 'Read and answer messages to you',
    annotations: { ...ADDS, openWorldHint: false },
  },
};

const IDEMPOTENCY_KEY = {
  type: 'string',
  description: 'names the job: a call with the same key is done once',
};

/** Returns the tool as `tools/list` shows it. */
export function describeTool({ name, description, parameters }: OfferedTool): Tool {
  const known = SESSION_TOOL_NAMES.find((candidate) => candidate === name);
  const traits = known === undefined ? undefined : TRAITS[known];
  return {
    name,
    description,
    inputSchema: {
      ...parameters,
      type: 'object',
      properties: {
        ...(parameters['properties'] as Record<string, object> | undefined),
        ...(traits?.isKeyed ? { idempotencyKey: IDEMPOTENCY_KEY } : {}),
      },
    },
    ...(traits === undefined ? {} : { title: traits.title, annotations: traits.annotations }),
    ...(isWaitingTool(name) ? { execution: { taskSupport: 'optional' as const } } : {}),
    ...(known === undefined ? {} : { outputSchema: answerSchema(known) }),
  };
}

const answerSchemas = new Map<SessionToolName, NonNullable<Tool['outputSchema']>>();

function answerSchema(name: SessionToolName): NonNullable<Tool['outputSchema']> {
  let schema = answerSchemas.get(name);
  if (schema === undefined) {
    const { $schema: _dialect, ...body } = z.toJSONSchema(SESSION_TOOL_ANSWERS[name]);
    schema = { ...body, type: 'object' } as NonNullable<Tool['outputSchema']>;
    answerSchemas.set(name, schema);
  }
  return schema;
}
