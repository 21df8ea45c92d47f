/** Returns whether a text fits a pattern in which `*` stands for any letters; linear in both. */
export function fitsPattern(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const tail = rest.pop() ?? '';
  if (!text.startsWith(head) || text.length < head.length + tail.length) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}
