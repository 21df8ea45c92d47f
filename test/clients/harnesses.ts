/** How each harness is started against a gateway and a model of ours, without a person and without its maker's servers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export interface HarnessWorld {
  /** of the gateway */
  gateway: { url: string; token: string };
  /** of the model */
  modelUrl: string;
}
export interface HarnessRun {
  code: number | null;
  output: string;
}
interface Launch {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** the prompt, for a harness that changes what stands in its arguments */
  input?: string;
}
export interface Harness {
  name: string;
  /** key of the session that it gets */
  sessionKey: string;
  prepare(home: string, world: HarnessWorld & { prompt: string }): Launch;
}

const HERE = import.meta.dirname;
const PACKAGES = join(HERE, 'node_modules');
const BIN = join(PACKAGES, '.bin');
const TRUNKLINE = join(HERE, '..', '..', 'bin', 'trunkline.js');
const PLATFORM = `${process.platform}-${process.arch}`;
/** A harness that is not done by then is stuck. */
const LONGEST_MS = 120_000;

function server({ gateway }: HarnessWorld) {
  return {
    command: process.execPath,
    args: [TRUNKLINE, 'mcp', '--url', gateway.url],
    env: { TRUNKLINE_GATEWAY_TOKEN: gateway.token },
  };
}

function writeJson(path: string, value: unknown): string {
  writeFileSync(path, JSON.stringify(value));
  return path;
}

export const HARNESSES: readonly Harness[] = [
  {
    name: 'Claude Code',
    sessionKey: 'agent:main:mcp:claude-code',
    prepare: (home, world) => ({
      command: join(PACKAGES, '@anthropic-ai', `claude-code-${PLATFORM}`, 'claude'),
      args: [
        '-p',
        world.prompt,
        '--mcp-config',
        writeJson(join(home, 'mcp.json'), { mcpServers: { trunkline: server(world) } }),
        '--strict-mcp-config',
        '--allowedTools',
        'mcp__trunkline',
      ],
      env: {
        ANTHROPIC_BASE_URL: world.modelUrl,
        ANTHROPIC_API_KEY: 'none',
        ANTHROPIC_MODEL: 'fake-1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ENABLE_TOOL_SEARCH: 'false',
        // the first turn waits for its servers
        MCP_CONNECTION_NONBLOCKING: 'false',
        MCP_TIMEOUT: '60000',
      },
    }),
  },
  {
    name: 'Codex',
    sessionKey: 'agent:main:mcp:codex-mcp-client',
    prepare: (home, world) => {
      const { command, args, env } = server(world);
      writeFileSync(
        join(home, 'config.toml'),
        [
          'model = "fake-1"',
          'model_provider = "local"',
          '[model_providers.local]',
          'name = "local"',
          `base_url = ${JSON.stringify(`${world.modelUrl}/v1`)}`,
          'wire_api = "responses"',
          '[mcp_servers.trunkline]',
          `command = ${JSON.stringify(command)}`,
          `args = ${JSON.stringify(args)}`,
          `env = { TRUNKLINE_GATEWAY_TOKEN = ${JSON.stringify(env.TRUNKLINE_GATEWAY_TOKEN)} }`,
          'startup_timeout_sec = 60',
          'required = true',
          'default_tools_approval_mode = "approve"',
        ].join('\n'),
      );
      return {
        command: join(BIN, 'codex'),
        args: ['exec', '--skip-git-repo-check', world.prompt],
        env: { CODEX_HOME: home },
      };
    },
  },
  {
    name: 'Gemini CLI',
    sessionKey: 'agent:main:mcp:gemini-cli-mcp-client',
    prepare: (home, world) => {
      mkdirSync(join(home, '.gemini'));
      writeJson(join(home, '.gemini', 'settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
        mcpServers: { trunkline: { ...server(world), trust: true } },
      });
      return {
        command: join(BIN, 'gemini'),
        args: ['--skip-trust', '--model', 'gemini-2.5-flash', '--prompt', world.prompt],
        env: {
          GEMINI_API_KEY: 'none',
          GOOGLE_GEMINI_BASE_URL: world.modelUrl,
        },
      };
    },
  },
  {
    name: 'opencode',
    sessionKey: 'agent:main:mcp:opencode',
    prepare: (home, world) => {
      const { command, args, env } = server(world);
      const config = writeJson(join(home, 'opencode.json'), {
        autoupdate: false,
        share: 'disabled',
        model: 'local/fake-1',
        small_model: 'local/fake-1',
        provider: {
          local: {
            npm: '@ai-sdk/openai-compatible',
            name: 'local',
            options: { baseURL: `${world.modelUrl}/v1`, apiKey: 'none' },
            models: { 'fake-1': { name: 'fake-1', tool_call: true } },
          },
        },
        mcp: {
          trunkline: {
            type: 'local',
            command: [command, ...args],
            environment: env,
            enabled: true,
            timeout: 60_000,
          },
        },
      });
      return {
        command: join(PACKAGES, `opencode-${PLATFORM}`, 'bin', 'opencode'),
        args: ['run', '--model', 'local/fake-1'],
        input: world.prompt,
        env: { OPENCODE_CONFIG: config, OPENCODE_DISABLE_MODELS_FETCH: 'true' },
      };
    },
  },
];

/** Runs a harness on one prompt in a home of its own, and resolves when it has ended. */
export async function runHarness(
  t: TestContext,
  harness: Harness,
  world: HarnessWorld & { prompt: string },
): Promise<HarnessRun> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'harness-')));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const { command, args, env, input = '' } = harness.prepare(home, world);
  const child = spawn(command, args, {
    cwd: home,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
    env: {
      PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      XDG_DATA_HOME: join(home, '.local', 'share'),
      XDG_CACHE_HOME: join(home, '.cache'),
      XDG_STATE_HOME: join(home, '.local', 'state'),
      NO_COLOR: '1',
      ...env,
    },
  });
  child.stdin.end(input);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
