/** The parts of a page that a program writes: found between two comments and replaced, everything around them kept. */

export type GeneratedParts = Readonly<Record<string, string>>;

const PART = /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end generated -->)/g;

/** The page with every generated part as it should be. A marker that names no part is an error, and so is a lost part. */
export function withGeneratedParts(page: string, parts: GeneratedParts): string {
  const seen = new Set<string>();
  const result = page.replace(PART, (_, begin: string, name: string, end: string) => {
    const text = parts[name];
    if (text === undefined) throw new Error(`There is no generated part "${name}".`);
    seen.add(name);
    return `${begin}\n${text.trim()}\n\n${end}`;
  });
  const lost = Object.keys(parts).filter((name) => !seen.has(name));
  if (lost.length > 0) throw new Error(`The page has no place for: ${lost.join(', ')}.`);
  return result;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
