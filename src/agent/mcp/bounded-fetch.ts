/** Network requests whose answers cannot fill the memory of the gateway. */

/** Largest answer, and largest single event of a stream, in bytes: as on the standard output of a program. */
export const MAX_ANSWER_BYTES = 10 * 1024 * 1024;
const NEWLINE = 10;
const RETURN = 13;

/**
 * Returns `fetch`, whose answers fail as soon as one of them, or one event of a stream, is larger than the limit.
 * Of a stream `onTooLarge` is told: whoever waits for an event would wait for the next connection.
 */
export function createBoundedFetch(
  onTooLarge: () => void,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const { body, status, statusText, headers } = await fetch(url, init);
    if (body === null) return new Response(null, { status, statusText, headers });
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    const bounded = body.pipeThrough(isStream ? boundEvents(onTooLarge) : boundBody());
    return new Response(bounded, { status, statusText, headers });
  };
}

function boundBody(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw tooLarge('an answer');
      controller.enqueue(chunk);
    },
  });
}

/** An empty line ends an event; what comes before it is held by whoever reads the stream. */
function boundEvents(onTooLarge: () => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = true;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        bytes += 1;
        if (byte === NEWLINE && isLineEmpty) bytes = 0;
        if (byte !== RETURN) isLineEmpty = byte === NEWLINE;
      }
      if (bytes > MAX_ANSWER_BYTES) {
        onTooLarge();
        throw tooLarge('an event');
      }
      controller.enqueue(chunk);
    },
  });
}

function tooLarge(what: string): Error {
  return Object.assign(new Error(`${what} is larger than ${MAX_ANSWER_BYTES} bytes`), {
    code: 'TOO_LARGE',
  });
}
