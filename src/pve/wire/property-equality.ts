/**
 * When two property strings mean the same: defaults written out or left away, booleans and numbers in any spelling,
 * letters in any case where case means nothing, lists by their elements. Equality is equality of one canonical text, so
 * it is an equivalence by construction.
 */
import { fromWireBoolean, toWireBoolean } from './boolean.ts';
import { canonicalDecimal } from './decimal.ts';
import { byCodeUnit } from './list.ts';
import type { PropertyFormat, PropertyValue, SubKey } from './property-string.ts';
import { parseSize } from './size.ts';

export function equalProperty(format: PropertyFormat, a: PropertyValue, b: PropertyValue): boolean {
  return canonicalProperty(format, a) === canonicalProperty(format, b);
}

/** One text per meaning. Not a property string: for comparing only. */
export function canonicalProperty(format: PropertyFormat, value: PropertyValue): string {
  const entries = [...value.entries]
    .map(([key, text]) => [key, canonicalText(format.keys.get(key), text)] as const)
    .filter(([key, text]) => text !== canonicalDefault(format.keys.get(key)))
    .sort(([a], [b]) => byCodeUnit(a, b));
  return JSON.stringify([entries, [...value.bare].sort(byCodeUnit)]);
}

function canonicalDefault(subKey: SubKey | undefined): string | undefined {
  return subKey?.default === undefined ? undefined : canonicalText(subKey, subKey.default);
}

function canonicalText(subKey: SubKey | undefined, text: string): string {
  switch (subKey?.type) {
    case 'boolean': {
      const truth = fromWireBoolean(text);
      return truth === undefined ? text : toWireBoolean(truth);
    }
    case 'integer':
    case 'number':
      return canonicalDecimal(text);
    case 'disk-size':
      return String(parseSize(text) ?? text);
    case 'list': {
      const elements = text.split(';').filter((element) => element.trim() !== '');
      const folded = elements.map((element) => foldCase(subKey, element.trim()));
      return (subKey.ordered ? folded : [...new Set(folded)].sort(byCodeUnit)).join(';');
    }
    default:
      return foldCase(subKey, text);
  }
}

function foldCase(subKey: SubKey | undefined, text: string): string {
  return subKey?.caseFold ? text.toLowerCase() : text;
}
