import { GatewayError } from '../protocol/errors.ts';
import { isDeeperThan } from '../protocol/json-depth.ts';

/** Returns the parsed JSON, or throws `invalid_request`. Deep nesting is refused before anything is built from it. */
export function parseJson(text: string, maxDepth: number): unknown {
  if (isDeeperThan(text, maxDepth))
    throw new GatewayError('invalid_request', `the JSON is nested deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayError('invalid_request', 'the text is not valid JSON', { cause });
  }
}
