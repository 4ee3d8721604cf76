/**
 * Applies a `Substitution` to recorded data: parameters, paths, answers, logs, UPIDs, volume ids and file paths.
 * Ids and sizes are plain numbers that also occur by chance, so each is recognised by what stands around it.
 */
import { isList, isObject, type Json, type JsonObject, type Scenario } from './replay/types.ts';
import type { Substitution } from './substitution.ts';

export function substituteScenario(scenario: Scenario, substitution: Substitution): Scenario {
  const steps = scenario.steps.map((step) => {
    const { id, kind, note, until, ...rest } = step as unknown as Record<string, Json>; // steps are JSON by origin
    const substituted = substituteJson(rest, substitution);
    return { id, kind, ...(note !== undefined && { note }), ...(until !== undefined && { until }), ...substituted };
  });
  return { ...scenario, steps: steps as unknown as Scenario['steps'] };
}

function substituteJson(value: JsonObject, substitution: Substitution): JsonObject {
  return substituteObject(value, replacerFor(substitution));
}

/** One text at a time, for data that is not JSON; `key` is the name of the field it stands in. */
export function substituteText(text: string, key: string, substitution: Substitution): string {
  return replacerFor(substitution).text(text, key);
}

interface Replacer {
  text(text: string, key: string): string;
  number(value: number, key: string): number;
}

const replacers = new WeakMap<Substitution, Replacer>();

function replacerFor(substitution: Substitution): Replacer {
  const known = replacers.get(substitution);
  if (known) return known;
  const replacer = makeReplacer(substitution);
  replacers.set(substitution, replacer);
  return replacer;
}

const VMID_KEYS: ReadonlySet<string> = new Set([
  'vmid',
  'newid',
  'target-vmid',
  'vms',
  'id',
  'data',
  'sid',
  'resources',
]);
const STORAGE_KEY = /^(storage|id|import-working-storage|(vm)?statestorage|(scsi|virtio|sata|ide)\d+)$/;
const SIZE_KEYS: ReadonlySet<string> = new Set(['size', 'maxdisk']);
const NAME_KEYS: ReadonlySet<string> = new Set(['name', 'host-name']);

function makeReplacer(substitution: Substitution): Replacer {
  const rules = [sizeRules, vmidRules, storageRules, nameRules].flatMap((make) => make(substitution));
  const { vmids, names, storages, sizes } = substitution;
  const whole = (text: string, key: string): string | undefined => {
    if (VMID_KEYS.has(key) && /^\d+(,\d+)*$/.test(text)) {
      return text.replace(/\d+/g, (vmid) => vmids.get(vmid) ?? vmid);
    }
    if (NAME_KEYS.has(key) && names.has(text)) return names.get(text);
    if (STORAGE_KEY.test(key)) return storages.get(text)?.name;
    if (key === 'size') {
      const size = sizes.find(({ fromKiB }) => sizeText(fromKiB) === text);
      return size && sizeText(size.toKiB);
    }
    return undefined;
  };
  return {
    text: (text, key) => whole(text, key) ?? rules.reduce((result, { from, to }) => result.replaceAll(from, to), text),
    number: (value, key) => {
      if (key === 'vmid' || key === 'newid' || key === 'target-vmid') return Number(vmids.get(String(value)) ?? value);
      const size = SIZE_KEYS.has(key) ? sizes.find(({ fromKiB }) => fromKiB * 1024 === value) : undefined;
      return size ? size.toKiB * 1024 : value;
    },
  };
}

interface Rule {
  readonly from: RegExp;
  readonly to: (found: string) => string;
}

/** Runs before the others, while storages still have their recorded names. */
function sizeRules({ sizes, storages }: Substitution): readonly Rule[] {
  return sizes.flatMap(({ fromKiB, toKiB, gib }) => [
    { from: new RegExp(`(?<=\\bsize=)${sizeText(fromKiB)}(?!\\w)`, 'g'), to: () => sizeText(toKiB) },
    { from: new RegExp(`(?<=\\bsize=)${fromKiB * 1024}(?!\\w)`, 'g'), to: () => String(toKiB * 1024) },
    {
      from: new RegExp(`(?<=^transferred .* of )${escaped(progressText(fromKiB))}(?= \\()`, 'g'),
      to: () => progressText(toKiB),
    },
    ...(gib ? requestedSizeRules(gib, [...storages.keys()]) : []),
  ]);
}

/** A size asked for as `STORAGE:GiB`, and the complaint of a server that takes it for the name of a volume. */
function requestedSizeRules(gib: { from: string; to: string }, storages: readonly string[]): readonly Rule[] {
  const site = [
    [`(?<=(?<!\\w)(?:${storages.join('|')}):)`, '(?=[,\\s]|$)'],
    ["(?<=\\bvolume name ')", "(?=')"],
  ] as const;
  return site.map(([before, after]) => ({
    from: new RegExp(before + escaped(gib.from) + after, 'g'),
    to: () => gib.to,
  }));
}

function vmidRules({ vmids }: Substitution): readonly Rule[] {
  if (vmids.size === 0) return [];
  const site = [
    [String.raw`(?<=\/)`, String.raw`(?!\d)`], // /qemu/100, /vms/100, images/100/, 9000/base-…/100/vm-…
    [String.raw`(?<=(?:\b|%2F)(?:vm|base)-)`, '(?=-)'],
    ['(?<=^|[:>])', String.raw`(?=-[a-z]+\d)`], // a disk that goes from one VM to another: 237-scsi1>238-scsi0
    [String.raw`(?<=\b(?:VM|vm|ID|VMID|vmid) '?)`, String.raw`(?!\d)`],
    [String.raw`(?<=\b(?:vm|ct|foo):|\bvmid=)`, String.raw`(?!\d)`], // HA's name of a guest, a query
    [String.raw`(?<=\btap)`, String.raw`(?=i\d)`],
    ['(?<=:)', '(?=[/:]|%2F)'], // volume ids and UPIDs
    ['(?<=^|:)', '(?=@)'], // what a task worked on: 410@local
    [String.raw`(?<=\block-)`, String.raw`(?=\.conf)`],
    [String.raw`(?<=\bclone )`, String.raw`(?=\/)`],
    ['(?<=, )', '(?= to )'],
    [String.raw`(?<=\bguests (?:to \w+|failed to \w+):? (?:\d+, )*|\bguests: (?:\d+, )*)`, String.raw`(?!\d)`], // bulk actions
  ] as const;
  const anyVmid = `(?:${[...vmids.keys()].join('|')})`;
  return site.map(([before, after]) => ({
    from: new RegExp(before + anyVmid + after, 'g'),
    to: (found) => vmids.get(found) ?? found,
  }));
}

function storageRules({ storages }: Substitution): readonly Rule[] {
  if (storages.size === 0) return [];
  const anyStorage = `(?:${[...storages.keys()].join('|')})`;
  const site = [
    String.raw`(?<![\w/-])${anyStorage}(?=:)`, // volume ids
    String.raw`(?<=\/content\/)${anyStorage}(?=:)`,
    String.raw`(?<=\bstorage\/(?:pve1\/)?)${anyStorage}(?![\w-])`,
    `(?<=')${anyStorage}(?=')`,
    `(?<=@)${anyStorage}(?=:|$)`, // what a task worked on: 410@local
    String.raw`(?<=!= )${anyStorage}(?=\))`,
  ];
  const byName = site.map((text) => ({
    from: new RegExp(text, 'g'),
    to: (found: string) => storages.get(found)?.name ?? found,
  }));
  const byPath = [...storages.values()].map(({ oldPath, path }) => ({
    from: new RegExp(`${oldPath}(?![\\w-])`, 'g'),
    to: () => path,
  }));
  return [...byName, ...byPath];
}

function nameRules({ names }: Substitution): readonly Rule[] {
  return [...names].flatMap(([from, to]) => [
    {
      from: new RegExp(`(?<=-name |\\bhostname: |\\bfqdn: |^Copy-of-VM-)${escaped(from)}(?=[\\s.]|$)`, 'g'),
      to: () => to,
    },
    { from: new RegExp(`^${escaped(from)}(?=\\n$)`, 'g'), to: () => to }, // /etc/hostname, read in the guest
  ]);
}

function substituteValue(value: Json, key: string, replacer: Replacer): Json {
  if (typeof value === 'string') return replacer.text(value, key);
  if (typeof value === 'number') return replacer.number(value, key);
  if (isList(value)) return value.map((element) => substituteValue(element, key, replacer));
  return isObject(value) ? substituteObject(value, replacer) : value;
}

function substituteObject(object: JsonObject, replacer: Replacer): JsonObject {
  const entries = Object.entries(object).map(([key, value]): [string, Json] => {
    // A list of changes names its keys in a field: {key: "name", value: "web-1"}.
    const meaning = (key === 'value' || key === 'pending') && typeof object.key === 'string' ? object.key : key;
    return [replacer.text(key, ''), substituteValue(value, meaning, replacer)];
  });
  return Object.fromEntries(entries);
}

/** As in a configuration: the largest unit that leaves a whole number. */
function sizeText(kib: number): string {
  if (kib % (1024 * 1024) === 0) return `${kib / (1024 * 1024)}G`;
  return kib % 1024 === 0 ? `${kib / 1024}M` : `${kib}K`;
}

/** As in a progress line: one decimal of the unit that keeps it below 1024. */
function progressText(kib: number): string {
  if (kib >= 1024 * 1024) return `${(kib / (1024 * 1024)).toFixed(1)} GiB`;
  return kib >= 1024 ? `${(kib / 1024).toFixed(1)} MiB` : `${kib.toFixed(1)} KiB`;
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
