import type { MethodAnswers } from '../protocol/answers/method-answers.ts';
import type { AgentFinal } from '../protocol/answers/run-answers.ts';
import type { MethodName, MethodParams } from '../protocol/methods.ts';
import type { CallContext } from './call-context.ts';

/** What each method does once its parameters are checked. */
export type Handlers = {
  [Name in MethodName]: (
    params: MethodParams[Name],
    context: CallContext,
  ) => Promise<LastAnswers[Name]>;
};
/** `agent` has sent its first answer before; none when the connection went before the run ended. */
type LastAnswers = Omit<MethodAnswers, 'agent'> & { agent: AgentFinal | undefined };
