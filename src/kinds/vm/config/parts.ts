/** Sub-keys of property strings: whether they have the desired value, and the string with them merged in. */
import { invariant } from '../../../base/errors.ts';
import {
  compareConfigValue,
  equalSubKey,
  formatOfKey,
  fromWireBoolean,
  type PropertyFormat,
  PropertyValue,
  parseProperty,
  printProperty,
  SMBIOS1_FORMAT,
} from '../../../pve/wire/index.ts';
import type { SubKeys } from './desired.ts';

/** The value of a property key; text that cannot be parsed counts as empty. */
export function propertyOf(key: string, text: string | undefined): PropertyValue {
  const parsed = parseProperty(formatOf(key), text ?? '');
  const value = parsed.ok ? parsed.value : new PropertyValue();
  return key === 'smbios1' ? inBase64(value) : value;
}

/** Proxmox takes the texts of the SMBIOS table plain or in base64, all of them the same way; here they are in base64. */
function inBase64(value: PropertyValue): PropertyValue {
  const isPlain = !fromWireBoolean(value.get('base64') ?? '0');
  return SMBIOS_TEXTS.reduce((result, part) => {
    const text = value.get(part);
    if (text === undefined) return result;
    return result.with(part, isPlain ? Buffer.from(text).toString('base64') : text).with('base64', '1');
  }, value.without('base64'));
}

const SMBIOS_TEXTS = [...SMBIOS1_FORMAT.keys.keys()].filter((part) => part !== 'uuid' && part !== 'base64');

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
  const hasTexts = key === 'smbios1' && SMBIOS_TEXTS.some((part) => value.get(part) !== undefined);
  return printProperty(formatOf(key), hasTexts ? value.with('base64', '1') : value);
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
  const changed = Object.entries(set).filter(
    ([part, text]) => !hasMore(part, text, actual.get(part)) && !equalSubKey(format, part, text, actual.get(part)),
  );
  if (changed.length === 0) return true;
  // A machine type is desired by family, and Proxmox may add a version.
  if (format.name !== 'machine') return false;
  const desired = changed.reduce((value, [part, text]) => value.with(part, text), actual);
  return compareConfigValue(key, printProperty(format, desired), printProperty(format, actual)) === 'equal';
}

/** Sub-keys that Proxmox only extends, perhaps by more than was requested; each value includes those before it. */
const GROWING: Readonly<Record<string, readonly string[] | undefined>> = {
  // OVMF.pm ensure_ms_2023_cert_enrolled: any request for 2023 enrols all of it and marks it as 2023k.
  'ms-cert': ['2011', '2023', '2023w', '2023k'],
};

function hasMore(part: string, desired: string | undefined, actual: string | undefined): boolean {
  const values = GROWING[part];
  if (values === undefined || desired === undefined || actual === undefined) return false;
  return values.indexOf(actual) > values.indexOf(desired);
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
