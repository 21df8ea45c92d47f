/** For what every test needs and none is about: on a busy machine a connection takes its time. Milliseconds. */
export const PATIENCE_MS = 30_000;
