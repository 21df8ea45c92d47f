/** Why a server cannot be used, in words that hold no address, argument or header of it. */

/** As much of a server's own words as an error shows. */
const MAX_WORDS = 500;

/** Code of our own for a request whose answer cannot come any more. */
export const CUT_OFF = -32_098;

const OF_SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: 'its command or folder is not there',
  EACCES: 'its command may not be run',
  ECONNREFUSED: 'nobody listens at its address',
  ENOTFOUND: 'the host of its address is not known',
  ECONNRESET: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  TOO_LARGE: 'its answer is larger than 10 MB',
  [CUT_OFF]: 'the connection broke',
  CONNECTION_CLOSED: 'it ended',
  NOT_CONNECTED: 'it ended',
  REQUEST_TIMEOUT: 'it did not answer in time',
  TimeoutError: 'it did not answer in time',
};

/** Returns a clause such as `it did not answer in time`. `mask` sees what the server itself says. */
export function describeMcpFailure(error: unknown, mask: (text: string) => string): string {
  const status = statusOf(error);
  if (status === 401 || status === 403) return `it answered HTTP ${status}; check its headers`;
  if (status !== undefined) return `it answered HTTP ${status}`;
  for (const cause of causesOf(error)) {
    if (isServerError(cause)) return `it answered: ${words(cause.message, mask)}`;
    const known = OF_SYSTEM[String(cause.code)] ?? OF_SYSTEM[cause.name];
    if (known !== undefined) return known;
  }
  return 'it does not speak MCP as expected';
}

/** Returns whether it is an error of the protocol: the server has answered, and says what was wrong. */
export function isServerError(error: unknown): boolean {
  // a time limit that has passed has a number too
  if (!(error instanceof Error) || error instanceof DOMException) return false;
  return 'code' in error && typeof error.code === 'number' && error.code !== CUT_OFF;
}

/** Returns the HTTP status of an answer that was a failure, undefined when it is no such thing. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('data' in error)) return undefined;
  // in an error of the protocol they are words of the server, about whatever it likes
  if ('code' in error && typeof error.code === 'number') return undefined;
  const { data } = error;
  if (typeof data !== 'object' || data === null || !('status' in data)) return undefined;
  return typeof data.status === 'number' ? data.status : undefined;
}

/** Returns whether the server answered that it cannot take this one request now, which says nothing of the others. */
export function isBusyAnswer(error: unknown): boolean {
  const status = statusOf(error);
  return status === 429 || (status !== undefined && status >= 500);
}

function words(message: string, mask: (text: string) => string): string {
  return mask(message.replace(/^MCP error -?\d+: /, ''))
    .slice(0, MAX_WORDS)
    .toWellFormed();
}

function causesOf(error: unknown): { name: string; message: string; code?: unknown }[] {
  const causes: Error[] = [];
  for (let at = error; at instanceof Error && causes.length < 5; at = at.cause) causes.push(at);
  return causes;
}
