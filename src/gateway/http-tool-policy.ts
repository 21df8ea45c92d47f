/** Which tools the HTTP door offers at all; `gateway.tools` restricts this door alone (A1, B15). */

/** Closed by default: what runs commands, writes files, or makes other agents work. */
const HTTP_DENIED_TOOLS: readonly string[] = (
  'exec spawn shell write edit fs_write fs_delete fs_move apply_patch ' +
  'sessions_spawn sessions_send sessions_stop cron gateway nodes'
).split(' ');

export interface HttpToolPolicy {
  /** opens tools of the default deny list, by exact name */
  allow?: readonly string[] | undefined;
  /** closes tools, `*` all; wins over `allow` */
  deny?: readonly string[] | undefined;
}

/** Returns whether the HTTP door offers this tool. */
export function isOfferedOverHttp(tool: string, policy: HttpToolPolicy): boolean {
  const name = tool.trim().toLowerCase();
  const names = (list: readonly string[] | undefined) =>
    (list ?? []).map((entry) => entry.trim().toLowerCase());
  const denied = names(policy.deny);
  if (denied.includes('*') || denied.includes(name)) return false;
  return !HTTP_DENIED_TOOLS.includes(name) || names(policy.allow).includes(name);
}
