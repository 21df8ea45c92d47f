/** How many children a transcript has ever spawned, also those that are purged by now. */
export function childrenOfWindows(): string[] {
  return [
    // children spawned since the transcript began; those from before this column count as none
    `alter table windows add column children_spawned integer not null default 0`,
  ];
}
