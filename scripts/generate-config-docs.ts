/** Writes `docs/configuration.md` from the option table: `node scripts/generate-config-docs.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { optionTable } from '../src/protocol/options/option-table.ts';
import type { OptionRow } from '../src/protocol/options/option-table.ts';

export const CONFIG_PAGE = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));

const INTRODUCTION = `# Configuration

<!-- Generated from the option table by scripts/generate-config-docs.ts; edit the options, not this page. -->

The gateway reads one JSON5 file, \`trunkline.json\` in its state directory. Every option may be left out.

| what | where, the first that is given |
|---|---|
| state directory | \`--state-dir\`, \`TRUNKLINE_STATE_DIR\`, \`~/.trunkline\` |
| configuration file | \`--config\`, \`TRUNKLINE_CONFIG\`, \`<state>/trunkline.json\` |
| port | \`--port\`, \`TRUNKLINE_GATEWAY_PORT\`, \`gateway.port\`, 18789 |
| token | \`gateway.auth.token\`, \`TRUNKLINE_GATEWAY_TOKEN\`, \`<state>/gateway.token\` (made at first start, mode 0600) |
| password of mode \`password\` | \`gateway.auth.password\`, \`TRUNKLINE_GATEWAY_PASSWORD\` |
| database | \`TRUNKLINE_DATABASE_URL\` (\`postgres://user:password@host:port/database\`), \`<state>/trunkline.db\` (SQLite) |
| database past a pooler | \`TRUNKLINE_DATABASE_DIRECT_URL\`, needed when the first leads through a transaction pooler |
| model provider keys | \`models.providers.*.apiKey\`; \`OPENAI_API_KEY\` and \`ANTHROPIC_API_KEY\` add the providers \`openai\` and \`anthropic\` |
| the gateway that a client command talks to | \`--url\`, the one of \`--state-dir\`, \`TRUNKLINE_GATEWAY_URL\`, \`<state>/gateway.url\`, the configured port |

- \`"\${NAME}"\` in any text stands for the environment variable \`NAME\`; one that is not set is an error. \`"$\${NAME}"\` is the plain text.
- A key within two letters of a known one is an error; any other unknown key is a warning and has no effect.
- "Default only" marks a documented option whose support is not there yet: at its default it is accepted, at any other value the gateway does not start and says so.
- A running gateway takes a changed file over by itself, at \`SIGHUP\` and at \`trunkline config reload\`: whole or, when something is wrong in it, not at all. What needs a restart says so here and in the log; the environment and the flags of the start stay.
- \`trunkline config check\` reports everything that is wrong in a file; \`trunkline config schema\` prints its JSON Schema for editors.
- \`agents.entries\` takes the same options as \`agents.list[]\`, under the id as key.
`;

/** Returns the page as text. */
export function configurationPage(): string {
  // Documented once, at `agents.list[]`.
  const rows = optionTable().filter((row) => !row.path.startsWith('agents.entries.'));
  const sections = new Map<string, OptionRow[]>();
  for (const row of rows) {
    const name = /^\w+/.exec(row.path)?.[0] ?? '';
    sections.set(name, [...(sections.get(name) ?? []), row]);
  }
  const tables = [...sections].map(
    ([name, members]) =>
      `\n## ${name}\n\n| option | values | default | |\n|---|---|---|---|\n${members.map(toLine).join('\n')}\n`,
  );
  return INTRODUCTION + tables.join('');
}

function toLine({ path, type, defaultValue, note }: OptionRow): string {
  const fallback = defaultValue === undefined ? '' : `\`${JSON.stringify(defaultValue)}\``;
  const also = (note.alsoAccepted ?? []).map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  const extent = also === '' ? `**Default only.**` : `**Default only**, and ${also}.`;
  const restart = note.needsRestart === true ? ' A change needs a restart.' : '';
  const text =
    note.support === 'default-only'
      ? `${note.description} ${extent}`
      : `${note.description}${restart}`;
  return `| \`${path}\` | ${type} | ${fallback} | ${text} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(CONFIG_PAGE, configurationPage());
