/** Returns the properties that are known: a row says `null`, an answer leaves out. */
export function withoutNull<Given extends Record<string, unknown>>(
  given: Given,
): { [Name in keyof Given]?: NonNullable<Given[Name]> } {
  const known = Object.entries(given).filter(([, value]) => value !== null);
  return Object.fromEntries(known) as { [Name in keyof Given]?: NonNullable<Given[Name]> };
}
