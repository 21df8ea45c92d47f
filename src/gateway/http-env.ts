import type { HttpBindings } from '@hono/node-server';

/** What the routes of the HTTP door find with a request. */
export interface HttpEnv {
  Bindings: HttpBindings;
}
