/** Sub-keys of property strings: whether they have the desired value, and the string with them merged in. */
import { invariant } from '../../base/errors.ts';
import {
  canonicalProperty,
  compareConfigValue,
  formatOfKey,
  type PropertyFormat,
  PropertyValue,
  parseProperty,
  printProperty,
} from '../../pve/wire/index.ts';
import type { SubKeys } from './desired.ts';

/** The value of a property key; text that cannot be parsed counts as empty. */
export function propertyOf(key: string, text: string | undefined): PropertyValue {
  const parsed = parseProperty(formatOf(key), text ?? '');
  return parsed.ok ? parsed.value : new PropertyValue();
}

/** NIC slot → MAC address, of a VM's configuration. */
export function macsOf(values: ReadonlyMap<string, string>): Record<string, string> {
  const nics = [...values].filter(([key]) => /^net\d+$/.test(key));
  return Object.fromEntries(
    nics.flatMap(([key, text]) => {
      const mac = propertyOf(key, text).get('macaddr');
      return mac === undefined ? [] : [[key, mac] as const];
    }),
  );
}

export function printPropertyOf(key: string, value: PropertyValue): string {
  return printProperty(formatOf(key), value);
}

/** The actual value with the desired sub-keys; one that already means the same keeps its spelling. */
export function mergedParts(key: string, set: SubKeys, actual: PropertyValue): PropertyValue {
  const merged = Object.entries(set).reduce(
    (value, [part, text]) => (isPartSatisfied(key, part, text, value) ? value : value.with(part, text)),
    actual,
  );
  return merged.entries.size === 0 ? merged : withNeededParts(formatOf(key), merged);
}

/** Proxmox refuses a value without its required sub-keys, even where they equal the default. */
function withNeededParts(format: PropertyFormat, merged: PropertyValue): PropertyValue {
  // The format of cpu does not require it, but the check of a VM's configuration does.
  const isNeeded = (part: string) => format.keys.get(part)?.required === true || part === 'cputype';
  return [...format.keys].reduce(
    (value, [part, { default: assumed }]) =>
      isNeeded(part) && assumed !== undefined && value.get(part) === undefined ? value.with(part, assumed) : value,
    merged,
  );
}

export function isPartSatisfied(key: string, part: string, text: string | undefined, actual: PropertyValue): boolean {
  return arePartsSatisfied(key, { [part]: text }, actual);
}

export function arePartsSatisfied(key: string, set: SubKeys, actual: PropertyValue): boolean {
  const format = formatOf(key);
  const entries = new Map(actual.entries);
  for (const [part, text] of Object.entries(set)) {
    if (text === undefined) entries.delete(part);
    else entries.set(part, text);
  }
  const desired = new PropertyValue(entries, actual.bare);
  if (canonicalProperty(format, desired) === canonicalProperty(format, actual)) return true;
  // A machine type is desired by family, and Proxmox may add a version.
  return (
    format.name === 'machine' &&
    compareConfigValue(key, printProperty(format, desired), printProperty(format, actual)) === 'equal'
  );
}

/** What Proxmox assumes for an absent sub-key. */
export function defaultOfPart(key: string, part: string): string | undefined {
  return formatOf(key).keys.get(part)?.default;
}

function formatOf(key: string): PropertyFormat {
  const format = formatOfKey(key);
  invariant(format !== undefined, `${key} is not a property string.`);
  return format;
}
