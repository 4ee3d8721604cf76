/** The body of a translated resource: attributes in the order of the source, with its comments, printed as `terraform fmt` does. */

export type Value = string | TargetObject;

/** The surroundings of an item in the source. */
export interface Around {
  /** Comments above it, line by line; empty lines between them are kept. */
  readonly above: readonly string[];
  /** A comment at the end of its line. */
  readonly beside?: string;
  readonly blankBefore: boolean;
}

export const NOTHING_AROUND: Around = { above: [], blankBefore: false };

interface Entry {
  readonly name: string;
  value: Value;
  readonly around: Around;
}

/** Source that is kept word for word: blocks of the language itself, and what is commented out. */
interface Verbatim {
  readonly lines: readonly string[];
  readonly around: Around;
}

export class TargetObject {
  private readonly items: (Entry | Verbatim)[] = [];
  /** `for` expressions that give further entries. */
  readonly spreads: string[] = [];
  /** Comments before the closing brace. */
  readonly below: string[] = [];

  get isEmpty(): boolean {
    return this.items.length === 0 && this.spreads.length === 0 && this.below.length === 0;
  }

  /** Nothing but source that is commented out. */
  get isOnlyComments(): boolean {
    return this.items.length > 0 && this.items.every((item) => !('name' in item)) && this.spreads.length === 0;
  }

  /** Some of the source is commented out. */
  get hasComments(): boolean {
    return this.items.some((item) => !('name' in item));
  }

  /** Nothing but `for` expressions. */
  get isOnlySpreads(): boolean {
    return this.items.length === 0 && this.below.length === 0 && this.spreads.length > 0;
  }

  names(): string[] {
    return this.items.flatMap((item) => ('name' in item ? [item.name] : []));
  }

  get(path: readonly string[]): Value | undefined {
    const [name, ...rest] = path;
    const found = this.items.find((item): item is Entry => 'name' in item && item.name === name);
    if (!found || rest.length === 0) return found?.value;
    return found.value instanceof TargetObject ? found.value.get(rest) : undefined;
  }

  /** An existing value stays: the caller has checked that both mean the same. */
  set(path: readonly string[], value: string, around: Around = NOTHING_AROUND): void {
    const [name = '', ...rest] = path;
    if (rest.length > 0) {
      this.object(name, around).set(rest, value, this.isNew(name) ? NOTHING_AROUND : around);
      return;
    }
    const found = this.items.find((item): item is Entry => 'name' in item && item.name === name);
    if (found) found.value = value;
    else this.items.push({ name, value, around });
  }

  private isNew(name: string): boolean {
    const value = this.get([name]);
    return value instanceof TargetObject && value.isEmpty;
  }

  /** The object of this name, a new one where there is none. */
  object(name: string, around: Around = NOTHING_AROUND): TargetObject {
    const found = this.items.find((item): item is Entry => 'name' in item && item.name === name);
    if (found?.value instanceof TargetObject) return found.value;
    const value = new TargetObject();
    if (found) found.value = value;
    else this.items.push({ name, value, around });
    return value;
  }

  remove(name: string): void {
    const index = this.items.findIndex((item) => 'name' in item && item.name === name);
    if (index >= 0) this.items.splice(index, 1);
  }

  /** In front of an entry that exists; it takes over the empty line before it. */
  setBefore(existing: string, name: string, value: string): void {
    const index = this.items.findIndex((item) => 'name' in item && item.name === existing);
    const found = this.items[index];
    if (!found) {
      this.set([name], value);
      return;
    }
    this.items.splice(index, 0, { name, value, around: { above: [], blankBefore: found.around.blankBefore } });
    this.items[index + 1] = { ...found, around: { ...found.around, blankBefore: false } };
  }

  /** Takes over all entries of another one. */
  absorb(other: TargetObject, change: (text: string) => string = (text) => text): void {
    for (const item of other.items) {
      if (!('name' in item)) this.items.push(item);
      else if (item.value instanceof TargetObject) this.object(item.name, item.around).absorb(item.value, change);
      else this.set([item.name], change(item.value), item.around);
    }
    this.spreads.push(...other.spreads.map(change));
    this.below.push(...other.below);
  }

  /** What another one has commented out, and its comments. */
  absorbComments(other: TargetObject): void {
    this.items.push(...other.items.filter((item) => !('name' in item)));
    this.below.push(...other.below);
  }

  verbatim(lines: readonly string[], around: Around = NOTHING_AROUND): void {
    this.items.push({ lines, around });
  }

  print(indent: string): string[] {
    const lines: string[] = [];
    let run: { readonly name: string; readonly value: string; readonly beside: string }[] = [];
    const flush = () => {
      const width = Math.max(0, ...run.map(({ name }) => name.length));
      for (const { name, value, beside } of run) lines.push(`${indent}${name.padEnd(width)} = ${value}${beside}`);
      run = [];
    };
    this.items.forEach((item, index) => {
      const { around } = item;
      if ((around.blankBefore && index > 0) || around.above.length > 0) flush();
      if (around.blankBefore && index > 0) lines.push('');
      lines.push(...around.above.map((line) => (line === '' ? '' : `${indent}${line}`)));
      if (!('name' in item)) {
        flush();
        lines.push(...item.lines.map((line) => (line === '' ? '' : `${indent}${line}`)));
        return;
      }
      const beside = around.beside === undefined ? '' : ` ${around.beside}`;
      const [first = '', ...more] = valueLines(item.value, indent);
      if (more.length === 0) {
        run.push({ name: item.name, value: first, beside });
        return;
      }
      flush();
      // The end of a heredoc must be alone on its line.
      if (beside !== '') lines.push(`${indent}${beside.trim()}`);
      lines.push(`${indent}${item.name} = ${first}`, ...more);
    });
    flush();
    lines.push(...this.below.map((line) => (line === '' ? '' : `${indent}${line}`)));
    return lines;
  }

  /** On one line, if it is short and has no comments. */
  inline(): string | undefined {
    const parts: string[] = [];
    for (const item of this.items) {
      if (!('name' in item) || item.around.above.length > 0 || item.around.beside !== undefined) return undefined;
      const value = item.value instanceof TargetObject ? item.value.inline() : item.value;
      if (value === undefined || value.includes('\n')) return undefined;
      parts.push(`${item.name} = ${value}`);
    }
    if (this.below.length > 0 || this.spreads.length > 0 || parts.length > 4) return undefined;
    const text = parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
    return text.length <= 78 ? text : undefined;
  }
}

/** The first without indentation, the others with it. */
export function valueLines(value: Value, indent: string): string[] {
  if (!(value instanceof TargetObject)) return value.split('\n');
  const short = value.inline();
  if (short !== undefined && value.spreads.length === 0) return [short];
  const own = value.isOnlySpreads ? [] : ['{', ...value.print(`${indent}  `), `${indent}}`];
  const [only, ...others] = value.spreads;
  if (only === undefined) return own;
  if (others.length === 0 && own.length === 0) return shifted(only, indent);
  const parts = [...(own.length > 0 ? [own.map((line, index) => (index === 0 ? line : `  ${line}`))] : [])];
  parts.push(...value.spreads.map((text) => shifted(text, `${indent}  `)));
  const args = parts.map((lines, index) => {
    const last = lines.length - 1;
    return lines.map(
      (line, number) =>
        (number === 0 ? `${indent}  ${line}` : line) + (number === last && index < parts.length - 1 ? ',' : ''),
    );
  });
  return ['merge(', ...args.flat(), `${indent})`];
}

function shifted(text: string, indent: string): string[] {
  return text.split('\n').map((line, index) => (index === 0 || line === '' ? line : `${indent}${line}`));
}
