/** The credentials that the canary test looks for, and a configuration that holds some of them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
};

/** Writes the configuration, with this way to announce. */
export function writeConfig(stateDir: string, modelUrl: string, mode = 'post'): void {
  const { gatewayToken: token, password, providerKey: apiKey } = CANARIES;
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
    session: { agentToAgent: { maxPingPongTurns: 2 } },
    tools: {
      allow: ['*', 'sessions_wait', 'sessions_stop', 'sessions_search'],
      sessions: { visibility: 'all' },
      agentToAgent: { enabled: true },
    },
  };
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
}
