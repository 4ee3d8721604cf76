/** Every configuration that a real server returned in the recorded scenarios must survive parsing and printing. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compareConfigValue } from './config-comparison.ts';
import { decodeConfig, describeConfigKey, formatOfKey } from './config-keys.ts';
import { equalProperty, parseProperty, printProperty } from './property-string.ts';
import { parseVolume, printVolume } from './volume.ts';

const contract = new URL('../../../tests/contract/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, contract), 'utf8'));
const documents = [
  read('base-world.json'),
  ...readdirSync(new URL('scenarios/', contract)).map((name) => read(`scenarios/${name}`)),
];

const isConfigPath = (path: unknown) => typeof path === 'string' && /\/qemu\/\d+\/config(\?.*)?$/.test(path);

/** All configurations in responses: single requests, polls and the base world. */
function configsIn(node: unknown): object[] {
  if (typeof node !== 'object' || node === null) return [];
  const request = 'request' in node ? node.request : node;
  const asksForConfig =
    typeof request === 'object' && request !== null && 'path' in request && isConfigPath(request.path);
  if (asksForConfig) return withDigest(node);
  return Object.entries(node).flatMap(([key, child]) => (isConfigPath(key) ? withDigest(child) : configsIn(child)));
}

/** Only configurations have a digest; error responses, and requests that send one with a change, do not count. */
function withDigest(node: unknown): object[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, child]) => {
    const isConfig = key === 'data' && typeof child === 'object' && child !== null && 'digest' in child;
    return isConfig ? [child] : withDigest(child);
  });
}

const configs = documents.flatMap(configsIn).map(decodeConfig);
const entries = configs.flatMap((config) => [...config.values]);
const distinct = [...new Map(entries.map(([key, value]) => [`${key}: ${value}`, { key, value }])).values()];
const properties = distinct.flatMap((entry) => {
  const format = formatOfKey(entry.key);
  return format ? [{ ...entry, format }] : [];
});

function parsed({ format, key, value }: (typeof properties)[number]) {
  const result = parseProperty(format, value);
  if (!result.ok) throw new Error(`${key}: ${value}: ${result.problem}`);
  return result.value;
}

describe('recorded configurations', () => {
  it('exist', () => {
    expect(configs.length).toBeGreaterThan(150);
    expect(properties.length).toBeGreaterThan(150);
  });

  it('have no unknown key', () => {
    expect([...new Set(distinct.map(({ key }) => key).filter((key) => !describeConfigKey(key)))]).toEqual([]);
  });

  it('have no unknown sub-key', () => {
    const unknown = properties.flatMap((entry) => [
      ...[...parsed(entry).entries.keys()].filter((subKey) => !entry.format.keys.has(subKey)),
      ...parsed(entry).bare,
    ]);
    expect(unknown).toEqual([]);
  });

  it('print unchanged if the server prints them itself: network cards and drives', () => {
    const reprinted = properties.filter(({ key }) =>
      /^(net|ide|sata|scsi|virtio|efidisk|tpmstate|unused)\d+$/.test(key),
    );
    expect(reprinted.length).toBeGreaterThan(100);
    for (const entry of reprinted) expect(printProperty(entry.format, parsed(entry))).toBe(entry.value);
  });

  it('print with the same meaning everywhere else', () => {
    for (const entry of properties) {
      const printed = printProperty(entry.format, parsed(entry));
      expect(equalProperty(entry.format, parsed(entry), parsed({ ...entry, value: printed }))).toBe(true);
      expect(compareConfigValue(entry.key, printed, entry.value)).toBe('equal');
    }
  });

  it('name only volumes that can be parsed and printed', () => {
    const files = properties.flatMap((entry) => parsed(entry).get('file') ?? []);
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      const volume = parseVolume(file);
      expect(volume?.kind).toMatch(/^(image|file|none|cdrom)$/);
      expect(volume && printVolume(volume)).toBe(file);
    }
  });
});
