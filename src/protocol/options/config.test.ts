import assert from 'node:assert/strict';
import test from 'node:test';
import { configSchema, defaultConfig } from './config.ts';
import { configJsonSchema, optionTable } from './option-table.ts';

/** Every key that the documents and the fact sheet name, with its default as it stands there. */
const DOCUMENTED_DEFAULTS: Record<string, unknown> = {
  'session.scope': 'per-sender',
  'session.dmScope': 'main',
  'session.identityLinks': {},
  'session.mainKey': 'main',
  'session.reset.mode': 'daily',
  'session.reset.atHour': 4,
  'session.reset.idleMinutes': undefined,
  'session.resetByType': {},
  'session.resetByChannel': {},
  'session.resetTriggers': ['/new', '/reset'],
  'session.idleMinutes': undefined,
  'session.store': undefined,
  'session.agentToAgent.maxPingPongTurns': 5,
  'session.agentToAgent.maxHops': 16,
  'session.agentToAgent.maxEdgeRepeats': 6,
  'session.agentToAgent.maxMessagesPerRoot': 64,
  'session.sendPolicy.rules': [],
  'session.sendPolicy.default': 'allow',
  'session.threadBindings.enabled': true,
  'session.threadBindings.idleHours': 24,
  'session.threadBindings.maxAgeHours': 0,
  'session.maintenance.mode': 'warn',
  'session.maintenance.pruneAfter': '30d',
  'session.maintenance.maxEntries': 500,
  'session.maintenance.rotateBytes': '10mb',
  'session.maintenance.resetArchiveRetention': undefined,
  'session.maintenance.maxDiskBytes': undefined,
  'session.maintenance.highWaterBytes': '80%',
  'tools.profile': undefined,
  'tools.allow': undefined,
  'tools.deny': undefined,
  'tools.byProvider': {},
  'tools.sandbox.tools': {},
  'tools.sessions.visibility': 'tree',
  'tools.agentToAgent.enabled': false,
  'tools.agentToAgent.allow': undefined,
  'tools.subagents.tools.allow': undefined,
  'tools.subagents.tools.deny': undefined,
  'tools.sessions_history.maxBytes': 81_920,
  'tools.sessions_history.mask': true,
  'tools.sessions_spawn.attachments.enabled': true,
  'tools.sessions_spawn.attachments.maxTotalBytes': 5_242_880,
  'tools.sessions_spawn.attachments.maxFiles': 50,
  'tools.sessions_spawn.attachments.maxFileBytes': 1_048_576,
  'tools.sessions_spawn.attachments.retainOnSessionKeep': false,
  'tools.exec.host': false,
  'agents.defaults.workspace': undefined,
  'agents.defaults.model': undefined,
  'agents.defaults.models': {},
  'agents.defaults.thinking': undefined,
  'agents.defaults.maxConcurrent': 4,
  'agents.defaults.timeoutSeconds': 172_800,
  'agents.defaults.sandbox.mode': 'off',
  'agents.defaults.sandbox.scope': 'agent',
  'agents.defaults.sandbox.workspaceAccess': 'none',
  'agents.defaults.sandbox.sessionToolsVisibility': 'spawned',
  'agents.defaults.subagents.archiveAfterMinutes': 60,
  'agents.defaults.subagents.runTimeoutSeconds': 0,
  'agents.defaults.subagents.model': undefined,
  'agents.defaults.subagents.thinking': undefined,
  'agents.defaults.subagents.maxConcurrent': 8,
  'agents.defaults.subagents.maxSpawnDepth': 1,
  'agents.defaults.subagents.maxChildrenPerAgent': 5,
  'agents.defaults.subagents.maxChildrenPerSession': 0,
  'agents.defaults.subagents.allowAgents': undefined,
  'agents.defaults.subagents.requireAgentId': false,
  'agents.defaults.subagents.announce.mode': 'post',
  'agents.defaults.budget': undefined,
  'agents.list': [],
  'agents.list[].id': undefined,
  'agents.list[].default': false,
  'agents.list[].name': undefined,
  'agents.list[].workspace': undefined,
  'agents.list[].model': undefined,
  'agents.list[].sandbox.mode': undefined,
  'agents.list[].sandbox.sessionToolsVisibility': undefined,
  'agents.list[].subagents.allowAgents': undefined,
  'agents.list[].subagents.model': undefined,
  'agents.list[].subagents.thinking': undefined,
  'agents.list[].subagents.requireAgentId': undefined,
  'agents.list[].tools.profile': undefined,
  'agents.list[].tools.allow': undefined,
  'agents.list[].tools.deny': undefined,
  'agents.entries': {},
  'models.providers': {},
  'models.providers.*.baseUrl': undefined,
  'models.providers.*.apiKey': undefined,
  'models.providers.*.api': 'openai-completions',
  'models.providers.*.models': [],
  'models.providers.*.models[].cost.input': 0,
  'models.providers.*.models[].cost.output': 0,
  'models.providers.*.models[].cost.cacheRead': 0,
  'models.providers.*.models[].cost.cacheWrite': 0,
  'gateway.port': 18_789,
  'gateway.bind': 'loopback',
  'gateway.auth.mode': 'token',
  'gateway.auth.token': undefined,
  'gateway.auth.password': undefined,
  'gateway.auth.rateLimit.maxAttempts': 10,
  'gateway.auth.rateLimit.windowMs': 60_000,
  'gateway.auth.rateLimit.lockoutMs': 300_000,
  'gateway.auth.rateLimit.exemptLoopback': true,
  'gateway.http.endpoints.chatCompletions.enabled': false,
  'gateway.tools.allow': [],
  'gateway.tools.deny': [],
  'recovery.maxAgeHours': 24,
  'recovery.maxAttempts': 5,
  'messages.queue.mode': 'collect',
  'messages.queue.debounceMs': 1000,
  'messages.queue.cap': 20,
  'messages.queue.drop': 'summarize',
  'messages.queue.byChannel': {},
  'cron.enabled': true,
  'cron.store': undefined,
  'cron.maxConcurrentRuns': 1,
  'cron.sessionRetention': '24h',
  'hooks.enabled': false,
  'hooks.token': undefined,
  'hooks.path': '/hooks',
  'hooks.defaultSessionKey': undefined,
  'hooks.allowRequestSessionKey': false,
  'hooks.allowedSessionKeyPrefixes': undefined,
  'hooks.allowedAgentIds': undefined,
  'hooks.mappings': [],
  'commands.text': true,
  'commands.allowFrom': undefined,
  'commands.useAccessGroups': true,
  'commands.ownerAllowFrom': undefined,
  'channels.discord.threadBindings.enabled': undefined,
  'channels.discord.threadBindings.idleHours': undefined,
  'channels.discord.threadBindings.maxAgeHours': undefined,
  'channels.discord.threadBindings.spawnSubagentSessions': false,
  'channels.discord.threadBindings.spawnAcpSessions': false,
  bindings: [],
};

test('[CF1] every configuration key that the documents name has the default of the documents', async (t) => {
  const rows = new Map(optionTable().map((row) => [row.path, row]));
  for (const [path, expected] of Object.entries(DOCUMENTED_DEFAULTS)) {
    await t.test(path, () => {
      assert.ok(rows.has(path), 'the option is declared');
      assert.deepEqual(rows.get(path)?.defaultValue, expected);
    });
  }
});

test('[CF1] an empty file gives each of these defaults', () => {
  const config: unknown = defaultConfig();
  for (const [path, expected] of Object.entries(DOCUMENTED_DEFAULTS)) {
    if (/\[\]|\*/.test(path)) continue;
    const value = path.split('.').reduce((at, key) => (at as Record<string, unknown>)[key], config);
    assert.deepEqual(value, expected, path);
  }
});

test('[BR-030] maxPingPongTurns outside 0 to 5 is refused', () => {
  const withTurns = (maxPingPongTurns: number) =>
    configSchema.safeParse({ session: { agentToAgent: { maxPingPongTurns } } }).success;
  assert.deepEqual([-1, 0, 1, 5, 6, 2.5].map(withTurns), [false, true, true, true, false, false]);
});

test('the JSON Schema describes each option and leaves every one optional', () => {
  const schema = configJsonSchema();
  assert.equal(schema['type'], 'object');
  assert.equal(schema['required'], undefined);
  const text = JSON.stringify(schema);
  for (const { note } of optionTable())
    assert.ok(text.includes(JSON.stringify(note.description).slice(1, -1)), note.description);
});

test('no option is declared twice', () => {
  const paths = optionTable().map((row) => row.path);
  assert.equal(new Set(paths).size, paths.length);
});
