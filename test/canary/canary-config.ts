/** The credentials that the canary test looks for, and a configuration that holds some of them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stdioServer } from '../helpers/mcp-servers.ts';

const LONG = 'aB3dE5gH'.repeat(6);
/** What must not be seen, by where it stands: five in texts, the rest by value alone. */
export const CANARIES = {
  message: `ghp_${LONG.slice(0, 36)}`,
  result: `glpat-${LONG.slice(0, 20)}`,
  failure: `xai-${LONG}`,
  task: 'AKIAIOSFODNN7CANARYX',
  prompt: `vcp_${LONG.slice(0, 40)}`,
  gatewayToken: 'canary of the gateway',
  password: 'canary of the password',
  providerKey: 'canary-of-the-provider',
  mcpToken: 'canary-of-an-mcp-server',
};

const BROKEN = 'console.error(`no ${process.env.MCP_TOKEN}`); process.exit(1)';

/** Writes the configuration, with this way to announce. */
export function writeConfig(stateDir: string, modelUrl: string, mode = 'post'): void {
  const { gatewayToken: token, password, providerKey: apiKey, mcpToken } = CANARIES;
  const env = { MCP_TOKEN: mcpToken };
  const models = [{ id: 'fake-1' }];
  const config = {
    gateway: {
      port: 0,
      auth: { mode: 'token', token, password },
      tools: { allow: ['sessions_send', 'sessions_spawn'] },
      http: { endpoints: { chatCompletions: { enabled: true } } },
    },
    agents: {
      defaults: { subagents: { announce: { mode } } },
      list: [{ id: 'a', default: true, workspace: join(stateDir, 'workspace-a') }, { id: 'b' }],
    },
    models: {
      providers: { fake: { baseUrl: `${modelUrl}/v1`, apiKey, api: 'openai-completions', models } },
    },
    mcp: {
      servers: {
        telling: stdioServer({ env, agents: ['a'] }),
        // one that tells it on its way down
        broken: { command: process.execPath, args: ['-e', BROKEN], env, agents: ['a'] },
      },
    },
    session: { agentToAgent: { maxPingPongTurns: 2 } },
    tools: {
      allow: ['*', 'sessions_wait', 'sessions_stop', 'sessions_search'],
      sessions: { visibility: 'all' },
      agentToAgent: { enabled: true },
    },
  };
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
}
