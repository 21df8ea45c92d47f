import type { TestWorld } from './test-world.ts';

/** Returns the tools of MCP servers that the session's last turn with tools was offered. */
export function offeredTo(world: TestWorld, key: string): string[] {
  const asked = world.model.requests.filter(
    ({ raw, body }) => raw.includes(`Your session is ${key}.`) && 'tools' in body,
  );
  const tools = (asked.at(-1)?.body['tools'] ?? []) as { function: { name: string } }[];
  return tools.map((tool) => tool.function.name).filter((name) => name.includes('__'));
}
