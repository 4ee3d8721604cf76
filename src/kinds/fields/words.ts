/**
 * The words of the stack file for values of the wire, and back: `8GiB` for `8192`, `false` for a missing VLAN tag.
 * Plans show them and the state records them. Reading never fails, because other clients may write anything.
 */

import { parseByteSize, parseDuration, printByteSize } from '../../base/values/units.ts';
import {
  decodeSshKeys,
  describeConfigKey,
  encodeSshKeys,
  fromWireBoolean,
  parseBootOrder,
  parseSize,
  printBootOrder,
  printDecimal,
  printSize,
  printTags,
  splitList,
  toWireBoolean,
} from '../../pve/wire/index.ts';

interface Words {
  /** Undefined if the key is absent on the wire. */
  toText(value: unknown): string | undefined;
  /** `null` is "not set". `key` is the Proxmox key the text belongs to. */
  toWords(text: string | undefined, key: string): unknown;
}

const MIB = 1024 ** 2;

const plain = (value: unknown) => (value === undefined || value === null || value === '' ? undefined : String(value));
const items = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
const unlessAbsent = (read: (text: string) => unknown) => (text: string | undefined) =>
  text === undefined || text.trim() === '' ? null : read(text);
const joined = (separator: string) => (value: unknown) => items(value).join(separator) || undefined;
const numberOrText = (text: string) => (Number.isFinite(Number(text)) ? Number(text) : text);

export const WORDS = {
  text: { toText: plain, toWords: unlessAbsent((text) => text) },
  number: {
    toText: (value) => (typeof value === 'number' ? printDecimal(value) : plain(value)),
    toWords: unlessAbsent(numberOrText),
  },
  boolean: {
    toText: (value) => (typeof value === 'boolean' ? toWireBoolean(value) : plain(value)),
    toWords: unlessAbsent((text) => fromWireBoolean(text) ?? text),
  },
  /** A raw key: typed by what Proxmox says of it. */
  raw: {
    toText: (value) =>
      typeof value === 'boolean'
        ? toWireBoolean(value)
        : typeof value === 'number'
          ? printDecimal(value)
          : plain(value),
    toWords: (text, key) => {
      const kind = describeConfigKey(key)?.kind;
      if (text === undefined) return null;
      if (kind === 'boolean') return fromWireBoolean(text) ?? text;
      return kind === 'integer' || kind === 'number' ? numberOrText(text) : text;
    },
  },
  mebibytes: { toText: mebibytes, toWords: unlessAbsent(sizeOfMebibytes) },
  /** Ballooning: 0 switches it off. */
  balloon: {
    toText: (value) => (value === false ? '0' : mebibytes(value)),
    toWords: unlessAbsent((text) => (text === '0' ? false : sizeOfMebibytes(text))),
  },
  'disk-size': {
    toText: (value) => {
      const bytes = typeof value === 'string' ? parseByteSize(value) : undefined;
      return bytes === undefined ? undefined : printSize(bytes);
    },
    toWords: unlessAbsent((text) => {
      const bytes = parseSize(text);
      return bytes === undefined ? text : printByteSize(bytes);
    }),
  },
  seconds: {
    toText: (value) => {
      const ms = typeof value === 'string' ? parseDuration(value) : undefined;
      return ms === undefined ? undefined : String(Math.round(ms / 1000));
    },
    toWords: unlessAbsent((text) => (/^\d+$/.test(text) ? printSeconds(Number(text)) : text)),
  },
  /** A duration that Proxmox counts in milliseconds. */
  milliseconds: {
    toText: (value) => durationText(value, 1),
    toWords: unlessAbsent((text) => (/^\d+$/.test(text) ? printMilliseconds(Number(text)) : text)),
  },
  /** A duration that Proxmox counts in seconds, with a fraction. */
  'decimal-seconds': {
    toText: (value) => durationText(value, 1000),
    toWords: unlessAbsent((text) =>
      /^\d+(\.\d+)?$/.test(text) ? printMilliseconds(Math.round(Number(text) * 1000)) : text,
    ),
  },
  /** A number, or a word instead of it. */
  'number-or-text': { toText: plain, toWords: unlessAbsent(numberOrText) },
  /** A word; false if there is none. */
  'text-or-false': {
    toText: (value) => (value === false ? undefined : plain(value)),
    toWords: (text) => (text === undefined || text === '' ? false : text),
  },
  /** Text that Proxmox keeps in base64, because the grammar of property strings has no quoting. */
  base64: {
    toText: (value) => (plain(value) === undefined ? undefined : Buffer.from(String(value)).toString('base64')),
    toWords: unlessAbsent((text) => Buffer.from(text, 'base64').toString()),
  },
  /** A number of mebibytes, or `any` for what fits. */
  'page-size': {
    toText: (value) => (value === '2MiB' ? '2' : value === '1GiB' ? '1024' : plain(value)),
    toWords: unlessAbsent((text) => (text === 'any' ? text : sizeOfMebibytes(text))),
  },
  /** A number; false if there is none. */
  'number-or-false': {
    toText: (value) => (typeof value === 'number' ? printDecimal(value) : undefined),
    toWords: (text) => (text === undefined ? false : numberOrText(text)),
  },
  /** 0 is no limit, and is left out. */
  limit: {
    toText: (value) => (typeof value === 'number' && value !== 0 ? printDecimal(value) : undefined),
    toWords: (text) => (text === undefined ? 0 : numberOrText(text)),
  },
  discard: {
    toText: (value) => (typeof value === 'boolean' ? (value ? 'on' : 'ignore') : undefined),
    toWords: (text) => text === 'on',
  },
  /** Fields of the volume rather than of the drive: see vm/config/disks.ts. */
  storage: { toText: plain, toWords: unlessAbsent((text) => text) },
  'image-format': { toText: plain, toWords: unlessAbsent((text) => text) },
  'import-source': { toText: plain, toWords: unlessAbsent((text) => text) },
  /** A token may use the device only through a mapping, whose name is written instead. */
  'pci-address': { toText: plain, toWords: unlessAbsent((text) => text) },
  /** A CD drive: an ISO, or false for an empty one. */
  medium: {
    toText: (value) => (value === false ? 'none' : plain(value)),
    toWords: unlessAbsent((text) => (text === 'none' ? false : text)),
  },
  spice: {
    toText: (value) => (value === true ? 'spice' : plain(value)),
    toWords: unlessAbsent((text) => (text === 'spice' ? true : text)),
  },
  /** Sub-lists of property strings. */
  list: { toText: joined(';'), toWords: (text) => splitList(text ?? '') },
  'number-list': { toText: joined(';'), toWords: (text) => splitList(text ?? '').map(numberOrText) },
  /** Separated by blanks: with commas, the guest would get one invalid address. */
  'blank-list': { toText: joined(' '), toWords: (text) => splitList(text ?? '') },
  /** As written: the datacenter decides whether their case and order matter. */
  tags: { toText: (value) => printTags(items(value)) || undefined, toWords: (text) => splitList(text ?? '') },
  'ssh-keys': {
    toText: (value) => (items(value).length === 0 ? undefined : encodeSshKeys(items(value))),
    toWords: (text) => decodeSshKeys(text ?? ''),
  },
  hotplug: {
    toText: (value) => (items(value).length === 0 ? '0' : items(value).join(',')),
    toWords: (text) => hotplugFeatures(text),
  },
  boot: {
    toText: (value) => printBootOrder(items(value)) || undefined,
    toWords: (text) => {
      const order = parseBootOrder(text);
      return order?.kind === 'order' ? order.devices : null;
    },
  },
  /** Notes and the ownership line have special rules: see ownership.ts. */
  notes: { toText: plain, toWords: unlessAbsent((text) => text) },
  'ownership-line': { toText: plain, toWords: unlessAbsent((text) => text) },
  /** The value is a digest; the wire shows a mask. */
  secret: { toText: () => undefined, toWords: () => null },
  /** A removed device, shown by its text on the wire. */
  removal: { toText: () => undefined, toWords: (text) => text ?? null },
} satisfies Record<string, Words>;

export type WordKind = keyof typeof WORDS;

export function textOfWords(kind: WordKind, value: unknown): string | undefined {
  return WORDS[kind].toText(value);
}

export function wordsOfText(kind: WordKind, text: string | undefined, key: string): unknown {
  const words: Words = WORDS[kind];
  return words.toWords(text, key);
}

/** What the `hotplug` key allows; absent or `1` is the server's default. */
export function hotplugFeatures(text: string | undefined): string[] {
  if (text === '0') return [];
  const isDefault = text === undefined || text.trim() === '' || text === '1';
  return splitList(isDefault ? (describeConfigKey('hotplug')?.default ?? '') : text);
}

function mebibytes(value: unknown): string | undefined {
  const bytes = typeof value === 'string' ? parseByteSize(value) : undefined;
  return bytes === undefined ? undefined : printDecimal(bytes / MIB);
}

function sizeOfMebibytes(text: string): string {
  return /^\d+$/.test(text) ? (Number(text) === 0 ? '0B' : printByteSize(Number(text) * MIB)) : text;
}

function durationText(value: unknown, unitMs: number): string | undefined {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  return ms === undefined ? undefined : printDecimal(ms / unitMs);
}

function printMilliseconds(ms: number): string {
  return ms % 1000 === 0 ? printSeconds(ms / 1000) : `${ms}ms`;
}

function printSeconds(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
