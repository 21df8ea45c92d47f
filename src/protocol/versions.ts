/** The versions of the wire protocol, and what differs between them for a client that watches text. */

export const PROTOCOL_MIN = 3;
export const PROTOCOL_MAX = 4;
/** 3: cumulative snapshots, at most three an answer. 4: `deltaText` pieces (A23). */
export type ProtocolVersion = 3 | 4;

/** Returns the newest version that both sides speak, or undefined when there is none. */
export function negotiateProtocol(client: {
  minProtocol: number;
  maxProtocol: number;
}): ProtocolVersion | undefined {
  const newest = Math.min(client.maxProtocol, PROTOCOL_MAX);
  if (newest < client.minProtocol) return undefined;
  return newest === 3 || newest === 4 ? newest : undefined;
}
