/**
 * Whether a configuration value already is what somebody wants, without false alarms: the server rewrites, completes and
 * retypes what it is given. The comparison is directed: what `desired` leaves to the server (a MAC address, a volume's
 * name, a machine version) is not held against `actual`.
 */
import { fromWireBoolean, toWireBoolean } from './boolean.ts';
import { parseBootOrder } from './boot-order.ts';
import { type ConfigKey, describeConfigKey } from './config-keys.ts';
import { canonicalDecimal } from './decimal.ts';
import { canonicalDescription } from './description.ts';
import { driveSatisfies } from './drive-comparison.ts';
import { byCodeUnit, splitList } from './list.ts';
import { canonicalProperty } from './property-equality.ts';
import { type PropertyFormat, type PropertyValue, parseProperty } from './property-string.ts';
import { canonicalSshKeys } from './ssh-keys.ts';
import { parseTags, printTags } from './tags.ts';

/** A value as it is sent or as it stands in an answer; `undefined` = the key is absent. */
export type ConfigScalar = string | number | boolean | undefined;
export type Comparison = 'equal' | 'different';

export function compareConfigValue(key: string, desired: ConfigScalar, actual: ConfigScalar): Comparison {
  return satisfies(describeConfigKey(key), textOf(desired), textOf(actual)) ? 'equal' : 'different';
}

/** A scalar of the wire as text; booleans as 0 and 1. */
export function textOf(value: ConfigScalar): string | undefined {
  return value === undefined ? undefined : typeof value === 'boolean' ? toWireBoolean(value) : String(value);
}

function satisfies(key: ConfigKey | undefined, desired: string | undefined, actual: string | undefined): boolean {
  if (desired === actual || key === undefined) return desired === actual;
  if (key.generated === 'always' || key.secret) return true;
  if (key.generated === 'when-absent' && desired === undefined) return true;
  if (key.device && (desired === undefined || actual === undefined)) return false;
  switch (key.kind) {
    case 'drive':
      return driveSatisfies(key.format, desired ?? '', actual ?? '');
    case 'property':
      return propertySatisfies(key.format, desired ?? '', actual ?? '');
    case 'uuid':
      // `1` asks the server to draw a value.
      return desired === '1' ? isUuid(actual) : canonical(key, desired) === canonical(key, actual);
    default:
      return canonical(key, desired) === canonical(key, actual);
  }
}

function propertySatisfies(format: PropertyFormat, desired: string, actual: string): boolean {
  const wanted = parseProperty(format, desired);
  const found = parseProperty(format, actual);
  if (!wanted.ok || !found.ok) return false;
  return (
    canonicalProperty(format, wanted.value) === canonicalProperty(format, leaveOut(format, wanted.value, found.value))
  );
}

/** What the server filled in because it was not said: a MAC address, a UUID, the version of a machine type. */
function leaveOut(format: PropertyFormat, wanted: PropertyValue, found: PropertyValue): PropertyValue {
  switch (format.name) {
    case 'net':
      return wanted.get('macaddr') === undefined ? found.without('macaddr') : found;
    case 'smbios1':
      return wanted.get('uuid') === undefined ? found.without('uuid') : found;
    case 'machine':
      return isVersionOf(wanted.get('type'), found.get('type')) ? found.with('type', wanted.get('type')) : found;
    default:
      return found;
  }
}

/** Guests with Windows get `pc-q35-10.0+pve1` where `q35` was asked for; the default family is `pc`. */
function isVersionOf(wanted: string | undefined, found: string | undefined): boolean {
  if (found === undefined) return false;
  switch (wanted) {
    case undefined:
    case 'pc':
      return /^pc(-i440fx)?-\d/.test(found);
    case 'q35':
      return /^pc-q35-\d/.test(found);
    case 'virt':
      return /^virt-\d/.test(found);
    default:
      return false;
  }
}

/** One text per meaning of a value that is no property string. */
function canonical(key: ConfigKey, value: string | undefined): string {
  // A blank is how the server reads back a value that was emptied.
  const text = value === undefined || value.trim() === '' ? (key.default ?? '') : value;
  switch (key.kind) {
    case 'boolean': {
      const truth = fromWireBoolean(text);
      return truth === undefined ? text : toWireBoolean(truth);
    }
    case 'integer':
    case 'number':
      return canonicalDecimal(Number(text) > (key.maximum ?? Infinity) ? String(key.maximum) : text);
    case 'uuid':
      return text.toLowerCase();
    case 'description':
      return canonicalDescription(value ?? '');
    case 'tags':
      return printTags(parseTags(text));
    case 'ssh-keys':
      return canonicalSshKeys(text);
    case 'hotplug':
      return canonicalHotplug(text === '1' ? (key.default ?? '') : text);
    case 'words':
      return text.trim().split(/\s+/).join(' ');
    case 'set':
      return canonicalSet(splitList(text));
    case 'boot':
      return JSON.stringify(parseBootOrder(value) ?? text);
    default:
      // The server takes away one pair of quotes around a plain text.
      return text.replace(/^"(.*)"$/, '$1');
  }
}

function canonicalHotplug(text: string): string {
  return text === '0' ? '' : canonicalSet(splitList(text));
}

function canonicalSet(items: readonly string[]): string {
  return [...new Set(items)].sort(byCodeUnit).join(' ');
}

function isUuid(text: string | undefined): boolean {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
