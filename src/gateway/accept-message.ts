import type { OperatorCaller } from '../core/caller.ts';
import { isOutcome } from '../core/run-state.ts';
import type { MethodParams } from '../protocol/methods.ts';
import type { RunOutcome } from '../protocol/words.ts';
import type { AcceptMessage, Accepted } from '../service/messages/accepted-message.ts';
import type { AgentFinal, ChatSent, RunWaitAnswer } from '../protocol/answers/run-answers.ts';
import type { Services } from '../service/services.ts';
import { MAX_TIMER_MS } from '../util/clock.ts';
import type { CallContext } from './call-context.ts';

type AcceptServices = Pick<Services, 'acceptMessage' | 'waitForRun'>;

/** `chat.send`: answers once the message is committed. A repeat says where that run is. */
export async function acceptChat(
  services: AcceptServices,
  { params, caller }: { params: MethodParams['chat.send']; caller: OperatorCaller },
): Promise<ChatSent> {
  const { deliver = true, ...rest } = params;
  const request: AcceptMessage = { ...rest, deliver, method: 'chat.send' };
  const accepted = await services.acceptMessage(caller, request);
  const { runId, sessionKey } = accepted;
  if (accepted.isNew) return { runId, sessionKey, status: 'started' };
  const { mergedInto } = accepted;
  const base = { runId, sessionKey, ...(mergedInto === undefined ? {} : { mergedInto }) };
  if (!hasEnded(accepted)) return { ...base, status: 'in_flight' };
  return { ...base, status: 'ok', outcome: accepted.state };
}

/**
 * `agent`: responds `accepted` once the message is committed, and resolves with the final answer when
 * the run has ended. The wait ends with the connection, the run does not; a repeat gets both again.
 */
export async function acceptAgent(
  services: AcceptServices,
  call: { params: MethodParams['agent']; caller: OperatorCaller; context: CallContext },
): Promise<AgentFinal | undefined> {
  const accepted = await services.acceptMessage(call.caller, toAgentRequest(call.params));
  const { runId, sessionKey, acceptedAt } = accepted;
  if (!hasEnded(accepted)) call.context.markStarted(runId);
  call.context.respond({ runId, sessionKey, status: 'accepted', acceptedAt });
  const answer = await waitForEnd(services, { runId, signal: call.context.signal });
  return answer === undefined ? undefined : toFinal(answer);
}

/** Returns what the parameters of `agent` ask for. */
export function toAgentRequest({
  deliver = false,
  timeout,
  ...rest
}: MethodParams['agent']): AcceptMessage {
  const limit = timeout === undefined ? {} : { timeoutMs: timeout * 1000 };
  return { ...rest, ...limit, deliver, method: 'agent' };
}

function hasEnded(accepted: Accepted): accepted is Accepted & { state: RunOutcome } {
  return isOutcome(accepted.state);
}

/** Returns the answer of an ended run, or undefined when the client went first. */
export async function waitForEnd(
  services: Pick<Services, 'waitForRun'>,
  { runId, signal }: { runId: string; signal: AbortSignal },
): Promise<RunWaitAnswer | undefined> {
  while (!signal.aborted) {
    const answer = await services.waitForRun(runId, { timeoutMs: MAX_TIMER_MS, signal });
    if (answer.messageState === 'done') return answer;
  }
  return undefined;
}

function toFinal({ reply, messageState: _state, ...answer }: RunWaitAnswer): AgentFinal {
  const payloads = reply === undefined || reply === '' ? [] : [{ text: reply }];
  const summary = answer.status === 'ok' ? 'completed' : (answer.error ?? String(answer.outcome));
  return { ...answer, summary, result: { payloads } };
}
