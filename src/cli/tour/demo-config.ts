/** The demo's two configurations: as shipped, and with the two settings that let agents talk. */

const AGENTS = {
  // The scripted runtime whatever keys are around: the tour costs nothing and is the same everywhere.
  defaults: { model: 'scripted/scripted-1' },
  list: [{ id: 'main', default: true }, { id: 'scout' }],
};

/** Two agents; everything else at its default. */
export const SHIPPED_CONFIG = { agents: AGENTS };

/** The same, with cross-agent messages between these two allowed. */
export const DEMO_CONFIG = {
  agents: AGENTS,
  tools: {
    sessions: { visibility: 'all' },
    agentToAgent: { enabled: true, allow: ['main', 'scout'] },
  },
};
