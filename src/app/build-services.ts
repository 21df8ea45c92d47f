/** The parts behind the doors: runtimes, tools and channels, and the use cases over them. */
import { createHash } from 'node:crypto';
import { createEmbeddedRuntime } from '../agent/embedded/create-embedded-runtime.ts';
import { createMcpTools, type McpTools } from '../agent/mcp/create-mcp-tools.ts';
import type { AgentTool, ToolQuestion } from '../agent/runtime.ts';
import { createScriptedRuntime } from '../agent/scripted/create-scripted-runtime.ts';
import { createWorkspaceTools } from '../agent/tools/create-workspace-tools.ts';
import type { ChannelAdapter } from '../channels/channel.ts';
import { createWebchat } from '../channels/webchat/create-webchat.ts';
import { spawnTargets } from '../core/agents.ts';
import { SCRIPTED_MODEL } from '../core/models.ts';
import type { Config } from '../protocol/options/config.ts';
import type { RunContext } from '../service/context.ts';
import { createServices, type ServiceHost } from '../service/create-services.ts';
import { createRunEvents, type RunEvents } from '../service/run-events.ts';
import type { Store } from '../store/store.ts';
import { createCallStarter } from '../tools/create-call-starter.ts';
import { createSessionTools } from '../tools/create-session-tools.ts';
import { createToolCatalog, createToolInvoker } from '../tools/create-tool-invoker.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { TRUNKLINE_VERSION } from './version.ts';

export interface BuildOptions {
  /** as it is now */
  config: () => Config;
  stateDir: string;
  clock: Clock;
  logger: Logger;
  bootId: string;
  /** what cursors are signed with is made of it */
  secret: string;
  /** chat services beside webchat; one with the same id takes its place */
  channels: readonly ChannelAdapter[];
}
export interface BuiltServices {
  context: RunContext;
  host: ServiceHost;
  /** what the doors do with a tool */
  doorTools: {
    invokeTool: ReturnType<typeof createToolInvoker>;
    listTools: ReturnType<typeof createToolCatalog>;
    startCall: ReturnType<typeof createCallStarter>;
  };
  mcpTools: McpTools;
}

/** Returns the parts of one gateway over its store; nothing of them runs yet. */
export function buildServices(store: Store, options: BuildOptions): BuiltServices {
  const { config, stateDir, clock, logger, bootId, secret, channels } = options;
  const events = createRunEvents((err) => logger.error({ err }, 'an event listener failed'));
  const scripted = createScriptedRuntime();
  const embedded = createEmbeddedRuntime({ providers: () => config().models.providers, logger });
  const tools = new Map<string, AgentTool>();
  const mcpTools = createMcpTools({ config, logger, version: TRUNKLINE_VERSION });
  const context: RunContext = {
    store,
    config,
    clock,
    logger,
    events,
    stateDir,
    cursorSecret: createHash('sha256').update(`cursor ${secret}`).digest('hex'),
    bootId,
    startedAt: clock.now(),
    runtimeFor: (provider) => (provider === SCRIPTED_MODEL.provider ? scripted : embedded),
    toolsOf: (question) => toolsFor(question, { tools, mcpTools }),
    toolServers: mcpTools.states,
    channels: new Map([webchat(events), ...channels].map((channel) => [channel.id, channel])),
  };
  const host = createServices(context);
  const sessionTools = createSessionTools({
    services: host.services,
    logger,
    runContext: host.runPosition,
    spawnTargets: (agentId) => spawnTargets(config(), agentId),
  });
  for (const tool of [...sessionTools, ...createWorkspaceTools()]) tools.set(tool.spec.name, tool);
  const given = { services: host.services, store, config, logger };
  const doorTools = {
    invokeTool: createToolInvoker(given),
    listTools: createToolCatalog(given),
    startCall: createCallStarter(given),
  };
  return { context, host, doorTools, mcpTools };
}

/** Those of the gateway, then those of the MCP servers that the turn may use. */
async function toolsFor(
  question: ToolQuestion,
  { tools, mcpTools }: { tools: ReadonlyMap<string, AgentTool>; mcpTools: McpTools },
) {
  const { tools: ofServers, whyMissing } = await mcpTools.toolsOf(question);
  const named = ofServers.map((tool) => [tool.spec.name, tool] as const);
  return { tools: new Map([...tools, ...named]), whyMissing };
}

function webchat(events: RunEvents): ChannelAdapter {
  return createWebchat((part) =>
    events.emit({
      type: 'chat_delivery',
      runId: part.runId ?? part.idempotencyKey,
      sessionKey: part.sessionKey,
      deliveryId: part.idempotencyKey,
      text: part.text,
    }),
  );
}
