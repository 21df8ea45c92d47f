/**
 * The script language of a turn without a model: one directive a line, run in order.
 *
 *   SAY: text            answer with this text
 *   TOOL: name {json}    call one tool, then go on
 *   TOOLS: [{…}, {…}]    call several tools in one message: objects of `name` and `args`
 *   SLEEP: ms            wait before the next step
 *   FAIL: message        end as a model failure
 *   EMPTY                answer without any text
 *   CHUNKS: n            stream the answer in n pieces
 *
 * `[…]` prefixes of a line (time stamps, markers) are skipped; other lines mean nothing.
 */
export interface ScriptCall {
  name: string;
  args: Record<string, unknown>;
}

export type Step =
  | { op: 'say'; text: string }
  | { op: 'calls'; calls: ScriptCall[] }
  | { op: 'sleep'; ms: number }
  | { op: 'fail'; message: string }
  | { op: 'empty' }
  | { op: 'chunks'; count: number };

/** What a turn does next: wait, then answer, call tools or fail. */
export interface Plan {
  sleepMs: number;
  action:
    | { kind: 'answer'; text: string; chunks: number }
    | { kind: 'calls'; calls: ScriptCall[] }
    | { kind: 'fail'; message: string };
}

const PREFIXES = String.raw`^\s*(?:\[[^\]\n]*\]:?\s*)*`;
const DIRECTIVE = new RegExp(`${PREFIXES}(SAY|TOOLS?|SLEEP|FAIL|CHUNKS):[ \\t]?(.*)$`);
const EMPTY = new RegExp(`${PREFIXES}EMPTY\\s*$`);

/** Returns the steps of a text; none when it holds no directive. A directive that cannot be read becomes a `fail` step. */
export function parseScript(text: string): Step[] {
  return text.split(/\r?\n/).flatMap((line) => {
    if (EMPTY.test(line)) return [{ op: 'empty' }];
    const match = DIRECTIVE.exec(line);
    return match ? [parseDirective(match[1] ?? '', (match[2] ?? '').trim())] : [];
  });
}

function parseDirective(op: string, rest: string): Step {
  switch (op) {
    case 'SAY':
      return { op: 'say', text: rest };
    case 'FAIL':
      return { op: 'fail', message: rest === '' ? 'scripted failure' : rest };
    case 'SLEEP':
    case 'CHUNKS': {
      const value = Number(rest);
      if (!Number.isFinite(value) || value < 0) return unreadable(op, 'a number of 0 or more');
      return op === 'SLEEP'
        ? { op: 'sleep', ms: value }
        : { op: 'chunks', count: Math.max(1, value) };
    }
    case 'TOOL':
      return parseTool(rest);
    default:
      return parseTools(rest);
  }
}

function parseTool(rest: string): Step {
  const match = /^(\S+)\s*(.*)$/.exec(rest);
  const args = parseJson(match?.[2] === '' ? '{}' : match?.[2]);
  if (!match?.[1] || !isRecord(args)) return unreadable('TOOL', 'a tool name and a JSON object');
  return { op: 'calls', calls: [{ name: match[1], args }] };
}

function parseTools(rest: string): Step {
  const list = parseJson(rest);
  const calls = Array.isArray(list) ? list.flatMap(toCall) : [];
  if (!Array.isArray(list) || calls.length === 0 || calls.length !== list.length) {
    return unreadable('TOOLS', 'a JSON array of objects with name and args');
  }
  return { op: 'calls', calls };
}

function toCall(entry: unknown): ScriptCall[] {
  if (!isRecord(entry) || typeof entry.name !== 'string') return [];
  const args = entry.args ?? {};
  return isRecord(args) ? [{ name: entry.name, args }] : [];
}

function unreadable(op: string, wanted: string): Step {
  return { op: 'fail', message: `the ${op} line of the script needs ${wanted}` };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns what comes next, given the texts of the tool results that the script already has. */
export function planNext(steps: Step[], done: { results: string[]; offered: string[] }): Plan {
  let sleepMs = 0;
  let chunks = 1;
  for (const step of stepsAfter(steps, done.results.length)) {
    if (step.op === 'sleep') sleepMs += step.ms;
    else if (step.op === 'chunks') chunks = step.count;
    else return { sleepMs, action: toAction(step, { chunks, offered: done.offered }) };
  }
  return {
    sleepMs,
    action: { kind: 'answer', text: `DONE: ${done.results.at(-1) ?? ''}`, chunks },
  };
}

/** The steps behind the last call that has its result; what stood before it belongs to an earlier request. */
function stepsAfter(steps: Step[], resultCount: number): Step[] {
  let seen = 0;
  let index = 0;
  while (seen < resultCount && index < steps.length) {
    const step = steps[index];
    if (step?.op === 'calls') seen += step.calls.length;
    index += 1;
  }
  return steps.slice(index);
}

function toAction(
  step: Exclude<Step, { op: 'sleep' | 'chunks' }>,
  given: { chunks: number; offered: string[] },
): Plan['action'] {
  switch (step.op) {
    case 'say':
      return { kind: 'answer', text: step.text, chunks: given.chunks };
    case 'empty':
      return { kind: 'answer', text: '', chunks: 1 };
    case 'fail':
      return { kind: 'fail', message: step.message };
    case 'calls': {
      // Like a model, a script can only call what it was offered; saying so makes a closed tool visible.
      const missing = step.calls.find((call) => !given.offered.includes(call.name));
      if (!missing) return { kind: 'calls', calls: step.calls };
      const offered = given.offered.toSorted().join(',');
      return {
        kind: 'answer',
        text: `NO_SUCH_TOOL: ${missing.name}; offered: ${offered}`,
        chunks: 1,
      };
    }
  }
}

/** Returns the text in `count` pieces of about equal length, never cutting a surrogate pair; none for an empty text. */
export function toChunks(text: string, count: number): string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / count));
  const pieces: string[] = [];
  for (let start = 0; start < characters.length; start += size) {
    pieces.push(characters.slice(start, start + size).join(''));
  }
  return pieces;
}
