/** What is missing and what is new between two lists of names; empty when they are the same. */
export function difference(before: readonly string[], after: readonly string[]): string {
  const lost = before.filter((name) => !after.includes(name)).map((name) => `lost ${name}`);
  const left = after.filter((name) => !before.includes(name)).map((name) => `left ${name}`);
  return [...lost, ...left].join(', ');
}
