import { z } from 'zod';
import { budgetShape } from '../budget-shape.ts';
import { ANNOUNCE_MODES, THINKING_LEVELS } from '../words.ts';
import { later, option, section } from './option.ts';
import { toolPolicyOptions } from './tool-options.ts';

const modelChoice = () =>
  z
    .union([
      z.string().min(1),
      z.object({
        primary: option(z.string().min(1), 'Model to use, `provider/id` or an alias.'),
        fallbacks: later(
          z.array(z.string()).default([]),
          'Models to try when the primary one fails.',
        ),
      }),
    ])
    .optional();

const thinking = () => z.enum(THINKING_LEVELS).optional();

/** Not strict: unknown keys are the configuration check's, here as everywhere. */
const budget = () => z.object(budgetShape.shape).optional();

const agentId = z
  .string()
  .trim()
  .toLowerCase()
  .regex(
    /^[a-z0-9_](?:[a-z0-9_-]{0,62}[a-z0-9_])?$/,
    'use 1 to 64 letters, digits, `_` or `-`, with no `-` at either end',
  );

const SANDBOX_MODES = ['off', 'non-main', 'all'] as const;
const SANDBOX_SCOPES = ['session', 'agent', 'shared'] as const;
const WORKSPACE_ACCESS = ['none', 'ro', 'rw'] as const;
const SESSION_TOOLS_VISIBILITY = ['spawned', 'all'] as const;

const sandboxDefaults = section({
  mode: later(z.enum(SANDBOX_MODES).default('off'), 'Which sessions run in a sandbox.'),
  scope: later(z.enum(SANDBOX_SCOPES).default('agent'), 'What shares one sandbox.'),
  workspaceAccess: later(
    z.enum(WORKSPACE_ACCESS).default('none'),
    'How a sandbox sees the agent’s workspace.',
  ),
  sessionToolsVisibility: later(
    z.enum(SESSION_TOOLS_VISIBILITY).default('spawned'),
    '`spawned` clamps the session tools of a sandboxed session to `tree`.',
  ),
});

const agentShape = {
  default: option(
    z.boolean().default(false),
    'Makes it the default agent; the first one marked counts.',
  ),
  name: option(z.string().optional(), 'Name for people.'),
  workspace: option(
    z.string().min(1).optional(),
    'Folder of its files. Default: `agents.defaults.workspace`, with `-<id>` added unless it is the default agent.',
  ),
  model: option(modelChoice(), 'Model of its sessions. Default: `agents.defaults.model`.'),
  thinking: option(
    thinking(),
    'Thinking level of its sessions. Default: `agents.defaults.thinking`.',
  ),
  sandbox: section({
    mode: later(z.enum(SANDBOX_MODES).optional(), 'As `agents.defaults.sandbox.mode`.', {
      alsoAccepted: ['off'],
    }),
    scope: later(z.enum(SANDBOX_SCOPES).optional(), 'As `agents.defaults.sandbox.scope`.', {
      alsoAccepted: ['agent'],
    }),
    workspaceAccess: later(
      z.enum(WORKSPACE_ACCESS).optional(),
      'As `agents.defaults.sandbox.workspaceAccess`.',
      { alsoAccepted: ['none'] },
    ),
    sessionToolsVisibility: later(
      z.enum(SESSION_TOOLS_VISIBILITY).optional(),
      'As `agents.defaults.sandbox.sessionToolsVisibility`.',
      { alsoAccepted: ['spawned'] },
    ),
  }),
  subagents: section({
    allowAgents: option(
      z.array(z.string()).optional(),
      'Agent ids that it may spawn under, `*` for all configured. Default: `agents.defaults.subagents.allowAgents`, else itself only.',
    ),
    model: option(modelChoice(), 'Model of the sub-agents it is asked to be.'),
    thinking: option(thinking(), 'Thinking level of the sub-agents it is asked to be.'),
    requireAgentId: option(
      z.boolean().optional(),
      'Whether `sessions_spawn` must name an agent. Default: `agents.defaults.subagents.requireAgentId`.',
    ),
  }),
  tools: section(toolPolicyOptions()),
  budget: option(
    budget(),
    'Limits of tokens, cost, runs and time over each session of this agent that nobody spawned, with all that it spawns; `{}` = none. Default: `agents.defaults.budget`.',
  ),
};

/** One entry of `agents.list`. */
const listedAgent = z.object({
  id: option(agentId, 'Agent id; folded to lower case.'),
  ...agentShape,
});

/** `agents.*`: the agents, and what holds for all of them (SPEC B7, B13). */
export const agentOptions = section({
  defaults: section({
    workspace: option(
      z.string().min(1).optional(),
      'Folder of the default agent’s files; the others get it with `-<id>` added. Default: `<state>/workspace`.',
    ),
    model: option(
      modelChoice(),
      'Model of agents without their own: `provider/id`, an alias, or `{primary, fallbacks}`. Default: the first model of the first provider.',
    ),
    models: option(
      z
        .record(
          z.string(),
          z.union([
            z.string().min(1),
            z.object({ alias: option(z.string().min(1).optional(), 'Short name of the model.') }),
          ]),
        )
        .default({}),
      'Aliases: `{"provider/id": {alias: "fast"}}`, or `{fast: "provider/id"}`.',
    ),
    thinking: option(thinking(), 'Thinking level of agents without their own. Default: `off`.'),
    maxConcurrent: option(z.int().min(1).default(4), 'Runs of people’s messages at a time.'),
    timeoutSeconds: option(
      z.number().min(1).max(315_360_000).default(172_800),
      'Longest time of a run in seconds.',
    ),
    sandbox: sandboxDefaults,
    subagents: section({
      archiveAfterMinutes: option(
        z.number().min(0).max(5_256_000).default(60),
        'Minutes after its end until a sub-agent session is archived; 0 = never.',
      ),
      runTimeoutSeconds: option(
        z.number().min(0).max(315_360_000).default(0),
        'Longest time of a sub-agent’s run in seconds; 0 = no limit.',
      ),
      model: option(modelChoice(), 'Model of sub-agents. Default: the caller’s.'),
      thinking: option(thinking(), 'Thinking level of sub-agents. Default: the caller’s.'),
      maxConcurrent: option(z.int().min(1).default(8), 'Runs of sub-agents at a time; more wait.'),
      maxSpawnDepth: option(
        z.int().min(1).max(5).default(1),
        'How deep sub-agents may nest, 1 to 5; 1 = a sub-agent never spawns.',
      ),
      maxChildrenPerAgent: option(
        z.int().min(1).max(20).default(5),
        'Active children of one session, 1 to 20.',
      ),
      maxChildrenPerSession: option(
        z.int().min(0).max(1_000_000).default(0),
        'Children that one session may ever spawn, those that have ended included; a reset begins anew. 0 = no limit.',
      ),
      allowAgents: option(
        z.array(z.string()).optional(),
        'Agent ids that agents without their own list may spawn under, `*` for all configured.',
      ),
      requireAgentId: option(
        z.boolean().default(false),
        'Whether `sessions_spawn` must name an agent.',
      ),
      announce: section({
        mode: option(
          z.enum(ANNOUNCE_MODES).default('post'),
          'How a child’s outcome reaches its requester: `post` sums it up for its chat, `template` posts the child’s last text without a further model call, `relay` gives the requester a turn whose reply is posted, `silent` leaves it in the requester’s transcript.',
        ),
      }),
    }),
    budget: option(
      budget(),
      'Limits over a session that nobody spawned, with all that it spawns: `tokens`, `usd`, `runs`, and `seconds` in which any run of them is going. Default: none.',
    ),
  }),
  list: option(
    z.array(listedAgent).default([]),
    'The agents. Without any, there is one agent, `main`.',
  ),
  entries: option(
    z.record(z.string(), z.object(agentShape)).default({}),
    'The agents as a map by id; added after those of `agents.list`.',
  ),
});
