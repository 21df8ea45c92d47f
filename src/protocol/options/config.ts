/**
 * The configuration file as one schema (SPEC B13). Every option has its default, its documentation
 * and the extent of its support where it is declared; nothing else repeats them.
 */
import { z } from 'zod';
import { agentOptions } from './agent-options.ts';
import { gatewayOptions } from './gateway-options.ts';
import { mcpOptions } from './mcp-options.ts';
import { modelOptions } from './model-options.ts';
import {
  bindingOptions,
  channelOptions,
  commandOptions,
  cronOptions,
  hookOptions,
  messageOptions,
  recoveryOptions,
} from './service-options.ts';
import { sessionOptions } from './session-options.ts';
import { toolOptions } from './tool-options.ts';

export const configSchema = z.object({
  session: sessionOptions,
  tools: toolOptions,
  agents: agentOptions,
  models: modelOptions,
  mcp: mcpOptions,
  gateway: gatewayOptions,
  recovery: recoveryOptions,
  messages: messageOptions,
  cron: cronOptions,
  hooks: hookOptions,
  commands: commandOptions,
  channels: channelOptions,
  bindings: bindingOptions,
});

/** The configuration in effect: checked, with every default filled in. */
export type Config = z.output<typeof configSchema>;
/** The configuration as written: everything may be left out. */
export type ConfigInput = z.input<typeof configSchema>;

/** Returns the configuration with every default filled in. Throws on a value of the wrong shape. */
export function defaultConfig(written: ConfigInput = {}): Config {
  return configSchema.parse(written);
}
