/** Returns the object with some members replaced; the others go on working on the object itself. */
export function replacing<T extends object>(whole: T, members: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name: string & keyof T) => {
      const member = members[name] ?? target[name];
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
