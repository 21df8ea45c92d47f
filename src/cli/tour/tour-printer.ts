import type { CliIo } from '../cli-io.ts';
import { formatJson } from '../output/format-json.ts';
import { printable } from '../output/printable.ts';

/** Shows the tour as it happens. */
export interface TourPrinter {
  introduction(): void;
  configuration(title: string, config: object): void;
  running(url: string): void;
  step(number: number, title: string): void;
  person(words: string, script: string): void;
  call(tool: string, args: unknown): void;
  result(result: unknown): void;
  agent(name: string, text: string): void;
  /** Returns true, for a step that happened. */
  held(what: string): true;
  /** Returns false, for a step that did not. */
  failed(what: string): false;
  conclusion(isComplete: boolean): void;
}

const DEFAULT_WIDTH = 100;
const INDENT = '   ';

export function createTourPrinter(io: CliIo): TourPrinter {
  const width = io.width ?? DEFAULT_WIDTH;
  const block = (text: string, indent = INDENT): void => {
    for (const line of text.split('\n')) io.out(indent + line);
  };
  const json = (value: unknown): void => block(formatJson(value, { width: width - INDENT.length }));
  return {
    introduction: () => {
      io.out(io.style('bold', 'Trunkline tour'));
      io.out('One gateway, two agents, every answer below is what the tools really returned.');
      io.out(
        'No model is called: the agents are played by the scripted runtime, which follows the',
      );
      io.out('script in the message (SAY: and TOOL: lines).');
    },
    configuration: (title, config) => {
      io.out(`\n${title}`);
      json(config);
    },
    running: (url) => io.out(io.style('dim', `gateway on ${url}, on a state of its own`)),
    step: (number, title) => io.out(`\n${io.style('bold', `${number}. ${title}`)}`),
    person: (words, script) => {
      io.out(`${io.style('cyan', 'person')}: ${words}`);
      for (const line of script.split('\n')) io.out(io.style('dim', `${INDENT}| ${line}`));
    },
    call: (tool, args) => {
      io.out(`${io.style('cyan', 'main')} calls ${io.style('bold', tool)} with`);
      json(args);
    },
    result: (result) => {
      io.out('and gets');
      json(result);
    },
    agent: (name, text) => {
      const lines = printable(text).split('\n');
      if (lines.length === 1) io.out(`${io.style('cyan', name)}: ${lines[0] ?? ''}`);
      else {
        io.out(`${io.style('cyan', name)}:`);
        block(lines.join('\n'));
      }
    },
    held: (what) => {
      io.out(`${io.style('green', '✔')} ${what}`);
      return true;
    },
    failed: (what) => {
      io.out(`${io.style('red', '✖')} ${what}`);
      return false;
    },
    conclusion: (isComplete) =>
      io.out(
        isComplete
          ? `\n${io.style('green', 'Every step of the tour happened.')}`
          : `\n${io.style('red', 'The tour did not come to its end.')}`,
      ),
  };
}
