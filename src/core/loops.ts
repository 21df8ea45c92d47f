/** The limits that stop agents from talking in circles (A11). Counts come from rows; this only decides. */
import type { RefusalRule } from './refusals.ts';

export interface LoopLimits {
  /** longest chain of routed messages from one root */
  maxHops: number;
  /** most primary messages from one session to another under one root */
  maxEdgeRepeats: number;
  /** most routed messages under one root */
  maxMessagesPerRoot: number;
}

export interface LoopCounts {
  /** hops of the message that would be sent */
  hops: number;
  /** earlier primary messages of this edge */
  edgeRepeats: number;
  /** earlier routed messages under the root */
  messages: number;
}

export type LoopRule = Extract<RefusalRule, `loop_${string}`>;

/** Returns why one more message is refused, or undefined. The text names the limit, the loop and what to do. */
export function loopRefusal(
  edge: { from: string; to: string; rootRunId: string },
  { limits, counts }: { limits: LoopLimits; counts: LoopCounts },
): { rule: LoopRule; text: string } | undefined {
  const stop = `nothing was sent; answer with what you have instead of messaging on`;
  if (counts.hops > limits.maxHops) {
    const text = `loop stopped: this chain of messages is ${counts.hops} hops long, session.agentToAgent.maxHops is ${limits.maxHops} (from ${edge.from} to ${edge.to}, root ${edge.rootRunId}); ${stop}`;
    return { rule: 'loop_hops', text };
  }
  if (counts.edgeRepeats >= limits.maxEdgeRepeats) {
    const text = `loop stopped: ${edge.from} has already sent ${counts.edgeRepeats} messages to ${edge.to} under root ${edge.rootRunId}, session.agentToAgent.maxEdgeRepeats is ${limits.maxEdgeRepeats}; ${stop}`;
    return { rule: 'loop_edge', text };
  }
  if (counts.messages >= limits.maxMessagesPerRoot) {
    const text = `loop stopped: ${counts.messages} messages were already sent under root ${edge.rootRunId}, session.agentToAgent.maxMessagesPerRoot is ${limits.maxMessagesPerRoot}; ${stop}`;
    return { rule: 'loop_messages', text };
  }
  return undefined;
}

/** Returns the error for a wait that would close a cycle over lanes; `path` starts and ends with the same key. */
export function waitCycleText(path: readonly string[]): string {
  return `waiting here would never end: ${path.join(' waits for ')}. Nothing was sent. Send with timeoutSeconds: 0 and go on, or answer first.`;
}
