/** The durable steps of a message, a child and an announce, each with what a crash around it leaves (DESIGN 6). */
import type { ScenarioName } from './scenarios.ts';

export interface CrashStep {
  /** name of the unit of work */
  unit: string;
  /** which one of the scenario, from 1 */
  nth: number;
  scenario: ScenarioName;
  /** what the step is */
  step: string;
  /** what a crash just before its commit leaves */
  before: string;
  /** what a crash just after it leaves */
  after: string;
  /** who goes on from there */
  repairedBy: string;
  /** the edit of the scenario was going: what became of it is unknown, and it is not done again */
  unknownWhen?: readonly ('before' | 'after')[];
  /** the caller's message is accepted in this step */
  accepts?: boolean;
  /** where an earlier process is killed, so that there is something to take over */
  earlier?: string;
  /** unit whose first try is refused */
  fail?: string;
}

const CALLER =
  'the caller, who was not answered: the same idempotencyKey is accepted, or finds the first acceptance';
const CLAIM = '`recover` frees the lane, `claim-run` claims it again';
const RESUME = `${CLAIM}; the run goes on from its transcript`;
const JOB = 'the job, which is still due at the next start';

/** One row per durable step; a process is killed before and after each (`crash-points-*.test.ts`). */
export const CRASH_STEPS: readonly CrashStep[] = [
  {
    unit: 'accept-chat.send',
    nth: 1,
    accepts: true,
    scenario: 'send',
    step: "a person's message is accepted",
    before: 'nothing',
    after: 'the message and its queued run, unanswered',
    repairedBy: CALLER,
  },
  {
    unit: 'claim-run',
    nth: 1,
    scenario: 'send',
    step: 'its run starts: text and start are one step',
    before: 'a queued run',
    after: 'a running run, its text in the transcript once',
    repairedBy: RESUME,
  },
  {
    unit: 'plan-tools',
    nth: 1,
    scenario: 'send',
    step: "the model's message with its planned calls",
    before: 'a text without an answer',
    after: 'planned calls, none started',
    repairedBy: `${CLAIM}; the model is asked again, or the planned calls are done`,
  },
  {
    unit: 'start-tool',
    nth: 1,
    scenario: 'send',
    step: 'a tool with an effect is about to run',
    unknownWhen: ['after'],
    before: 'a planned call: it did not run',
    after: 'a started call: nobody knows whether it ran',
    repairedBy: `${CLAIM}; a planned call is done, a started one gets the result "interrupted, outcome unknown"`,
  },
  {
    unit: 'finish-tool',
    nth: 1,
    scenario: 'send',
    step: 'the result of a tool with an effect',
    unknownWhen: ['before'],
    before: 'a started call whose result is lost',
    after: 'a finished call',
    repairedBy: `${CLAIM}; it is not done again, the calls after it are`,
  },
  {
    unit: 'start-tool',
    nth: 2,
    scenario: 'send',
    step: 'a session tool is about to run',
    before: 'a planned call',
    after: 'a started call without effect yet',
    repairedBy: `${CLAIM}; the call is done: its key finds what it did before`,
  },
  {
    unit: 'accept-send',
    nth: 1,
    scenario: 'send',
    step: '`sessions_send` in a run: message, exchange and wait',
    before: 'a started call, nothing sent',
    after: 'the message, its run, an open wait with its deadline',
    repairedBy: `${CLAIM}; the call is done again: the key (run, position, index) finds the message and joins the wait`,
  },
  {
    unit: 'accept-send',
    nth: 1,
    accepts: true,
    scenario: 'door',
    step: '`sessions_send` through a door',
    before: 'nothing',
    after: 'the message and its run; no answer',
    repairedBy: CALLER,
  },
  {
    unit: 'claim-run',
    nth: 2,
    scenario: 'send',
    step: "the target's run starts while the sender waits",
    before: 'a queued run and an open wait',
    after: 'a running run and an open wait',
    repairedBy: `${RESUME}, both lanes each for itself`,
  },
  {
    unit: 'close-run',
    nth: 1,
    scenario: 'send',
    step: "the target's reply, its outcome and the exchange's next step",
    before: 'a running run, its reply lost',
    after: 'an ended run, an open wait, a due job',
    repairedBy: `${RESUME}; the wait finds the outcome`,
  },
  {
    unit: 'end-wait',
    nth: 1,
    scenario: 'send',
    step: 'the sender goes on',
    before: 'an open wait for an ended run',
    after: 'an ended wait, the call without its result',
    repairedBy: `${CLAIM}; the call is done again and reads the outcome`,
  },
  {
    unit: 'append-tool-results',
    nth: 1,
    scenario: 'send',
    step: 'all results of a message enter the transcript',
    before: 'finished calls, a started one',
    after: 'a transcript that ends with results',
    repairedBy: `${CLAIM}; what is missing is done again and appended, then the model is asked`,
  },
  {
    unit: 'close-run',
    nth: 2,
    scenario: 'send',
    step: "the sender's reply, its outcome and its delivery",
    before: 'a running run, its reply lost',
    after: 'an ended run, a queued delivery and its job',
    repairedBy: `${RESUME}; ${JOB}`,
  },
  {
    unit: 'delivery-sending',
    nth: 1,
    scenario: 'send',
    step: 'a reply is about to be handed to the chat',
    before: 'a queued delivery',
    after: 'a delivery in `sending`',
    repairedBy: `${JOB}: sent again where the channel is idempotent, else \`unknown\` on the desk`,
  },
  {
    unit: 'delivery-booked',
    nth: 1,
    scenario: 'send',
    step: 'the chat has the reply',
    before: 'a delivery in `sending` that was sent',
    after: 'a sent delivery',
    repairedBy: `${JOB}: sent again under the same key where the channel is idempotent`,
  },
  {
    unit: 'advance-exchange',
    nth: 1,
    scenario: 'send',
    step: "the exchange waits for the end of the sender's run",
    before: 'a due exchange and its job',
    after: "a due exchange; the sender's end adds the job again",
    repairedBy: `${JOB}, or \`close-run\` of the sender`,
  },
  {
    unit: 'advance-exchange',
    nth: 2,
    scenario: 'send',
    step: 'the reply-back turn is queued',
    before: 'a due exchange and its job',
    after: 'a queued turn under its fixed id',
    repairedBy: JOB,
  },
  {
    unit: 'claim-run',
    nth: 3,
    scenario: 'send',
    step: 'the reply-back turn starts',
    before: 'a queued turn',
    after: 'a running turn',
    repairedBy: RESUME,
  },
  {
    unit: 'close-run',
    nth: 3,
    scenario: 'send',
    step: 'the reply-back turn ends, the announce step is due',
    before: 'a running turn',
    after: 'an ended turn, a due exchange and its job',
    repairedBy: `${RESUME}; ${JOB}`,
  },
  {
    unit: 'advance-exchange',
    nth: 3,
    scenario: 'send',
    step: "the exchange's announce turn is queued",
    before: 'a due exchange and its job',
    after: 'a queued announce turn',
    repairedBy: JOB,
  },
  {
    unit: 'close-run',
    nth: 4,
    scenario: 'send',
    step: 'the announce turn ends, and the exchange with it',
    before: 'a running announce turn',
    after: 'a done exchange',
    repairedBy: RESUME,
  },
  {
    unit: 'retry-job',
    nth: 1,
    scenario: 'send',
    fail: 'advance-exchange',
    step: 'a job has failed and is tried again later',
    before: 'a due job',
    after: 'the job with its error, due later',
    repairedBy: JOB,
  },
  {
    unit: 'accept-spawn',
    nth: 1,
    scenario: 'spawn',
    step: '`sessions_spawn`: child, task and what the requester is owed',
    before: 'a started call, no child',
    after: 'the child with its queued task',
    repairedBy: `${CLAIM}; the call is done again: its key finds the child`,
  },
  {
    unit: 'claim-run',
    nth: 2,
    scenario: 'spawn',
    step: 'the child starts',
    before: 'a queued task',
    after: 'a running child',
    repairedBy: RESUME,
  },
  {
    unit: 'close-run',
    nth: 2,
    scenario: 'spawn',
    step: "the child's result and the job that announces it",
    before: 'a running child, its result lost',
    after: 'an ended child, a due announce',
    repairedBy: `${RESUME}; ${JOB}`,
  },
  {
    unit: 'announce-spawn',
    nth: 1,
    scenario: 'spawn',
    step: "the child's announce turn is queued",
    before: 'a due announce',
    after: 'a queued announce turn under its fixed id',
    repairedBy: JOB,
  },
  {
    unit: 'close-run',
    nth: 3,
    scenario: 'spawn',
    step: 'the announce turn ends',
    before: 'a running announce turn',
    after: 'the announce text, a due announce',
    repairedBy: `${RESUME}; ${JOB}`,
  },
  {
    unit: 'announce-spawn',
    nth: 2,
    scenario: 'spawn',
    step: 'note, delivery and settlement are one step',
    before: 'a due announce, nothing told',
    after: 'the note, a queued delivery, a settled child',
    repairedBy: JOB,
  },
  {
    unit: 'delivery-sending',
    nth: 2,
    scenario: 'spawn',
    step: 'the announce is about to be handed to the chat',
    before: 'a queued delivery',
    after: 'a delivery in `sending`',
    repairedBy: `${JOB}: sent again where the channel is idempotent, else \`unknown\` on the desk`,
  },
  {
    unit: 'delivery-booked',
    nth: 2,
    scenario: 'spawn',
    step: 'the chat has the announce',
    before: 'a delivery in `sending` that was sent',
    after: 'a sent delivery',
    repairedBy: `${JOB}: sent again under the same key where the channel is idempotent`,
  },
  {
    unit: 'accept-agent',
    nth: 1,
    accepts: true,
    scenario: 'timeout',
    step: "an operator's `agent` call with a time limit is accepted",
    before: 'nothing',
    after: 'the message and its queued run, unanswered',
    repairedBy: CALLER,
  },
  {
    unit: 'claim-run',
    nth: 1,
    scenario: 'timeout',
    step: 'it starts, and its deadline is written',
    before: 'a queued run whose time has not begun',
    after: 'a running run with its deadline',
    repairedBy: `${RESUME} until the deadline in its row, through the time of the restart`,
  },
  {
    unit: 'close-run',
    nth: 1,
    scenario: 'timeout',
    step: 'a run that ran out of time gets its outcome',
    before: 'a running run past its deadline',
    after: 'a run with the outcome `timeout`',
    repairedBy: `${CLAIM} with the verdict \`timeout\``,
  },
  {
    unit: 'count-attempt',
    nth: 1,
    scenario: 'slow',
    step: 'a step has been going for two seconds',
    before: 'a running run, no attempt counted',
    after: 'a running run with one attempt counted',
    repairedBy: `${RESUME}, unless \`recovery.maxAttempts\` are used up: then it ends \`error\``,
  },
  {
    unit: 'recover',
    nth: 1,
    scenario: 'send',
    earlier: 'claim-run:after:2',
    step: 'a new process takes the lanes of a dead one',
    before: 'lanes of the dead process',
    after: 'free lanes that hold their runs',
    repairedBy: 'the next start does it again',
  },
  {
    unit: 'accept-wait',
    nth: 1,
    scenario: 'wait',
    step: '`sessions_wait` in a run: one row for each run that is waited for',
    before: 'a started call that waits for nothing',
    after: 'a waiting run, open waits with their deadline',
    repairedBy: `${CLAIM}; the call is done again and goes on with its rows`,
  },
  {
    unit: 'end-wait',
    nth: 1,
    scenario: 'wait',
    step: 'a wait for several runs is over',
    before: 'open waits for ended runs',
    after: 'ended waits, the call without its result',
    repairedBy: `${CLAIM}; the call is done again and reads the outcomes`,
  },
  {
    unit: 'stop-runs',
    nth: 1,
    scenario: 'stop',
    step: 'a run, its child and what waits in the child are stopped',
    before: 'everything goes on, the caller unanswered',
    after: 'the waiting run ended, the others marked and still going',
    repairedBy: `the caller asks again; ${CLAIM} with the verdict \`aborted\``,
  },
  {
    unit: 'close-run',
    nth: 1,
    scenario: 'stop',
    step: 'the first of the marked runs gets its outcome',
    before: 'a running run that is marked as stopped',
    after: 'an aborted run, the job that announces the child, another marked run',
    repairedBy: `${CLAIM} with the verdict \`aborted\``,
  },
  {
    unit: 'patch-session',
    nth: 1,
    scenario: 'patch',
    step: "an operator changes a session's settings",
    before: 'the old settings',
    after: 'the new settings, no answer',
    repairedBy: 'the caller asks again: the same values give the same row',
  },
  {
    unit: 'claim-run',
    nth: 2,
    scenario: 'collect',
    step: 'waiting messages are collected into one turn',
    before: 'two queued runs',
    after: 'one running run with both texts; the other run is merged into it',
    repairedBy: RESUME,
  },
  {
    unit: 'close-run',
    nth: 2,
    scenario: 'collect',
    step: 'the turn ends for each message that it took in',
    before: 'a running run and one merged into it, the reply lost',
    after: 'two ended runs with one outcome, one queued delivery',
    repairedBy: `${RESUME}; ${JOB}`,
  },
  {
    unit: 'append-tool-results',
    nth: 1,
    scenario: 'steer',
    step: 'a message is steered in after the tool results',
    before: 'a started call, a queued message',
    after: 'results and message in the transcript, its run merged',
    repairedBy: `${CLAIM}; the call is done again, results and message are appended, then the model is asked`,
  },
  {
    unit: 'accept-chat.send',
    nth: 2,
    accepts: true,
    scenario: 'interrupt',
    step: 'a message that interrupts the running turn is accepted',
    before: 'a running run, nothing of the message',
    after: 'a running run, and a queued one that interrupts it',
    repairedBy: `${CALLER}; who takes the run over finds the waiting interrupt and ends it`,
  },
  {
    unit: 'accept-chat.send',
    nth: 3,
    accepts: true,
    scenario: 'overflow',
    step: 'a message is accepted, and the oldest waiting one gives way',
    before: 'a queued run, nothing of the message',
    after: 'an ended run with its summary, and the queued message',
    repairedBy: CALLER,
  },
];

/** Returns the rows of these scenarios, each once before and once after its commit. */
export function killsOf(
  which: (scenario: ScenarioName) => boolean,
): { step: CrashStep; when: 'before' | 'after'; left: string }[] {
  return CRASH_STEPS.filter((step) => which(step.scenario)).flatMap((step) =>
    (['before', 'after'] as const).map((when) => ({ step, when, left: step[when] })),
  );
}

/** Steps of a gateway that has chats; killed before and after each by `delivery-kills.test.ts`. */
export const CHAT_STEPS = [
  {
    unit: 'accept-direct',
    before: 'nothing',
    after: 'the parts of the text and the job of their chat, unanswered',
    repairedBy: 'the caller, whose key finds the text; the job hands it over',
  },
  {
    unit: 'accept-inbound',
    before: 'nothing',
    after: "the person's message and its queued run",
    repairedBy:
      'the chat service, which offers the message again: its id finds the first acceptance',
  },
  {
    unit: 'retry-delivery',
    before: 'a failed delivery',
    after: 'a queued delivery, the job of its chat and a line in the audit log, unanswered',
    repairedBy: 'the caller asks again; the job',
  },
  {
    unit: 'drop-delivery',
    before: 'a failed delivery',
    after: 'a dropped delivery and a line in the audit log, unanswered',
    repairedBy: 'the caller asks again, and is told that it is dropped',
  },
] as const;

/** Units that no row above reaches, and why that is enough. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  'uncount-attempt':
    'a process that is killed while it stops in order leaves at most one attempt too many, until the run advances',
  'import-session':
    'no gateway runs during an import; each session is one unit, and the import run again takes what is not there yet',
  'import-subagent-run': 'as import-session',
};
