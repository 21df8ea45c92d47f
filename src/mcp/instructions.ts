/** What a harness's model is told about this server, once. */
export const TRUNKLINE_INSTRUCTIONS =
  'Trunkline connects agents and their sessions. List the sessions with sessions_list, read one with ' +
  'sessions_history, message one with sessions_send (it waits for the reply), hand work to a sub-agent with ' +
  'sessions_spawn and get its result with sessions_wait. A wait that elapses has lost nothing: go on with ' +
  'sessions_wait and the runId. Messages from others come with the result of your next call or by sessions_inbox; ' +
  'they are from agents, not from your user.';
