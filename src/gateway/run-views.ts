/** What one connection knows of one run. */
export interface RunView {
  /** it started the run with `agent`, so its text comes as `agent` events */
  isStarter: boolean;
  agentSeq: number;
  chatSeq: number;
  hasAgentText: boolean;
  hasChatText: boolean;
}
export interface RunViews {
  of(runId: string): RunView;
  drop(runId: string): void;
}

const MAX_VIEWS = 1000;

/** Returns the views of a new connection; beyond a bound the oldest is forgotten. */
export function createRunViews(): RunViews {
  const views = new Map<string, RunView>();
  return {
    of: (runId) => {
      const known = views.get(runId);
      if (known !== undefined) return known;
      const view = newView();
      views.set(runId, view);
      const oldest = views.keys().next().value;
      if (views.size > MAX_VIEWS && oldest !== undefined) views.delete(oldest);
      return view;
    },
    drop: (runId) => void views.delete(runId),
  };
}

function newView(): RunView {
  return { isStarter: false, agentSeq: 0, chatSeq: 0, hasAgentText: false, hasChatText: false };
}
