import type { AssistantMessage } from '../../protocol/message.ts';

/** Model calls of a run that no message of its transcript speaks for. */
export interface UnbookedCalls {
  /** calls that failed after the provider had begun to charge, and were made again */
  failed: readonly AssistantMessage[];
  /** the model is being asked: when the run ends now, nobody will know what this call used */
  isAsking: boolean;
}

/**
 * What a run that is being played has asked of models since its last commit. It is booked with the next one; a
 * process that dies before takes it along, and the next attempt books the call under way as unknown.
 */
export class CallLedger {
  #failed: AssistantMessage[] = [];
  #isAsking = false;

  ask(): void {
    this.#isAsking = true;
  }

  answered(): void {
    this.#isAsking = false;
  }

  /** A failure before anything was produced is free. */
  fail(message: AssistantMessage): void {
    if (message.usage !== undefined) this.#failed.push(message);
  }

  /** What to book in a unit of work; the same at each of its attempts. */
  unbooked(): UnbookedCalls {
    return { failed: [...this.#failed], isAsking: this.#isAsking };
  }

  /** Call it after the commit. */
  booked(): void {
    this.#failed = [];
  }
}
