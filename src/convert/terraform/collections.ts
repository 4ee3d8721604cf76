/**
 * Blocks that become entries of a map: disks and network cards by slot. A `dynamic` block becomes a `for` expression.
 * The addresses of network cards come from separate blocks and are joined with the cards here.
 */
import type { Collection } from '../mapping/rows.ts';
import { type Around, type TargetObject, valueLines } from './target.ts';

/** The loop of a dynamic block. */
export interface Loop {
  readonly iterator: string;
  /** What it goes through, as HCL. */
  readonly over: string;
  /** Its elements are counted: the slot is a position. */
  readonly isPositional: boolean;
}

export interface Part {
  /** HCL: a word, a quoted template, or an expression in parentheses. */
  readonly key: string;
  readonly element: TargetObject;
  readonly around: Around;
  readonly loop?: Loop;
  /** Addresses that belong to a card which another block describes. */
  readonly joins: boolean;
  /** What could not be joined. */
  left(why: string): void;
}

/** The slot of a block, and the slot of each element of a dynamic one. */
export function slotKey(collection: Collection, position: string, given: string | undefined): string {
  const { key } = collection;
  if ('position' in key) return position;
  if (given === undefined) return key.byDefault ?? position;
  if (key.prefix === undefined) return asKey(given);
  return /^\d+$/.test(given) ? `${key.prefix}${given}` : `"${key.prefix}\${${given}}"`;
}

function asKey(text: string): string {
  const plain = /^"([a-z][a-z0-9]*)"$/.exec(text)?.[1];
  return plain ?? (text.startsWith('"') ? text : `(${text})`);
}

/** `inherits`: a template may have what no block describes. */
export function placed(root: TargetObject, to: string, parts: readonly Part[], inherits: boolean): void {
  if (!inherits && parts.every(({ joins }) => joins)) {
    root.remove(to);
    for (const part of parts)
      part.left(
        'The VM has no card that this address could belong to. Add one: `nics = { net0 = { bridge = "vmbr0", … } }`.',
      );
    return;
  }
  const map = root.object(to);
  const own = parts.filter(({ joins }) => !joins);
  const joining = parts.filter(({ joins }) => joins);
  const loops = own.filter((part) => part.loop !== undefined);
  const rows = own.filter((part) => part.loop === undefined);
  for (const part of rows) into(map, part);
  const homeless = joining.filter((part) => !join(part, map, rows, loops));
  for (const { loop, key, element } of loops) if (loop) map.spreads.push(loopText(loop, key, element));
  if (own.length > 0) {
    for (const part of homeless) part.left('Convert cannot tell which cards these addresses belong to.');
    return;
  }
  for (const part of homeless) {
    if (part.loop) map.spreads.push(loopText(part.loop, part.key, part.element));
    else into(map, part);
  }
}

function into(map: TargetObject, { key, element, around }: Part): void {
  map.object(key, around).absorb(element);
}

/** Whether it found its cards. */
function join(part: Part, map: TargetObject, rows: readonly Part[], loops: readonly Part[]): boolean {
  if (!part.loop) {
    if (rows.some(({ key }) => key === part.key)) {
      map.object(part.key).absorb(part.element);
      return true;
    }
    if (loops.length === 0) {
      into(map, part);
      return true;
    }
    for (const { key, element } of loops) {
      for (const name of part.element.names()) {
        const value = part.element.get([name]);
        if (value === undefined) continue;
        const text = valueLines(value, '    ').join('\n');
        element.set([name], `${key.replace(/^\(|\)$/g, '')} == "${part.key}" ? ${text} : null`);
      }
    }
    return true;
  }
  const twin = loops.find(({ loop }) => loop?.over === part.loop?.over);
  if (twin?.loop) {
    // Both go through the same list, so one loop is enough.
    twin.element.absorb(part.element, (text) =>
      renamedIterator(text, part.loop?.iterator ?? '', twin.loop?.iterator ?? ''),
    );
    return true;
  }
  if (rows.length === 0 || loops.length > 0) return false;
  for (const [index, { key }] of rows.entries()) {
    for (const name of part.element.names()) {
      const value = part.element.get([name]);
      if (value === undefined) continue;
      const each = valueLines(value, '      ').join('\n');
      map.object(key).set([name], `try([for ${header(part.loop)} : ${each}][${index}], null)`);
    }
  }
  return true;
}

function renamedIterator(text: string, from: string, to: string): string {
  return text.replace(new RegExp(`\\b${from}(?=_(?:key|value|index)\\b|\\.(?:key|value)\\b)`, 'g'), to);
}

export function header({ iterator, over, isPositional }: Loop): string {
  return isPositional
    ? `${iterator}_index, ${iterator} in [for key, value in ${over} : { key = key, value = value }]`
    : `${iterator}_key, ${iterator}_value in ${over}`;
}

function loopText(loop: Loop, key: string, element: TargetObject): string {
  const [first = '{}', ...more] = valueLines(element, '  ');
  return [`{`, `  for ${header(loop)} : ${key} => ${first}`, ...more, '}'].join('\n');
}
