/**
 * One consistent renaming of everything a simulator could have memorised: which VM id, name, storage and disk
 * size becomes which. Plain data, made for one scenario; `substitute.ts` applies it.
 */
import type { RequestStep, Scenario } from './replay/types.ts';
import { type Dimension, isSubstituted, LOW_VMIDS } from './substitution-limits.ts';

export interface Substitution {
  readonly vmids: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, string>;
  readonly storages: ReadonlyMap<string, StorageSubstitute>;
  readonly sizes: readonly SizeSubstitute[];
}

interface StorageSubstitute {
  readonly name: string;
  readonly oldPath: string;
  readonly path: string;
}

/** A disk size; where it can be asked for as `STORAGE:gib`, that number as well. */
interface SizeSubstitute {
  readonly fromKiB: number;
  readonly toKiB: number;
  readonly gib?: { readonly from: string; readonly to: string };
}

const BASE_VMIDS = [100, 9000, 9001, 9100];
const BASE_NAMES = ['web-1', 'tpl-qcow2', 'tpl-raw', 'debian-agent-tpl'];

const STORAGES = new Map<string, StorageSubstitute>([
  ['local', { name: 'depot', oldPath: '/var/lib/vz', path: '/mnt/depot' }],
  ['local2', { name: 'annex', oldPath: '/srv/local2', path: '/mnt/annex' }],
  ['tiny', { name: 'thimble', oldPath: '/srv/tiny', path: '/mnt/thimble' }],
  ['isoonly', { name: 'discs', oldPath: '/srv/isoonly', path: '/mnt/discs' }],
]);

/** Smaller for the disks that must fit into the 64 MiB of `tiny`, larger for the others. */
const SIZES: readonly SizeSubstitute[] = [
  { gib: { from: '1', to: '3' }, fromKiB: kibOf(1), toKiB: kibOf(3) },
  { gib: { from: '0.1', to: '0.3' }, fromKiB: kibOf(0.1), toKiB: kibOf(0.3) },
  { gib: { from: '0.05', to: '0.04' }, fromKiB: kibOf(0.05), toKiB: kibOf(0.04) },
  // What these become when scenarios grow them: by 8 MiB, and twice by 100 MiB.
  { fromKiB: kibOf(0.05) + 8 * 1024, toKiB: kibOf(0.04) + 8 * 1024 },
  { fromKiB: kibOf(0.1) + 200 * 1024, toKiB: kibOf(0.3) + 200 * 1024 },
];

/** Adding keeps the order of ids, which some answers are sorted by. */
const VMID_SHIFT = 5000;

export function substitutionFor(scenario: Scenario): Substitution {
  const allowed = (dimension: Dimension) => isSubstituted(scenario.scenario, dimension);
  const vmids = [...vmidsOf(scenario)].filter((vmid) => allowed('lowVmids') || !LOW_VMIDS.includes(vmid));
  return {
    vmids: new Map(allowed('vmids') ? vmids.map((vmid) => [String(vmid), String(vmid + VMID_SHIFT)]) : []),
    names: new Map(allowed('names') ? [...namesOf(scenario)].map((name) => [name, otherName(name)]) : []),
    storages: allowed('storages') ? STORAGES : new Map(),
    sizes: allowed('sizes') ? SIZES : [],
  };
}

/** As the server computes it from a number of GiB: whole KiB, rounded up. */
function kibOf(gib: number): number {
  return Math.ceil(gib * 1024 * 1024);
}

/** Every letter becomes the next one; the length stays, because answers count the bytes of a host name. */
function otherName(name: string): string {
  return name.replace(/[a-z]/gi, (letter) => (/z/i.test(letter) ? 'a' : String.fromCharCode(letter.charCodeAt(0) + 1)));
}

/** Every id in use: of the base world, in a path or as a parameter; out-of-range ones stay as they are. */
function vmidsOf(scenario: Scenario): ReadonlySet<number> {
  const inText = [...JSON.stringify(scenario.steps).matchAll(/\/qemu\/(\d+)|"(?:vmid|newid)":"?(\d+)|\bvm-(\d+)-/g)];
  const found = inText.map((match) => Number(match[1] ?? match[2] ?? match[3]));
  return new Set([...BASE_VMIDS, ...found.filter((vmid) => vmid >= 100 && vmid < 1_000_000)]);
}

/** Names of the base world and those that requests of this scenario gave to VMs. */
function namesOf(scenario: Scenario): ReadonlySet<string> {
  const given = requestsOf(scenario)
    .filter(({ path, response }) => path.includes('/qemu') && response.status === 200)
    .map(({ params }) => params?.name)
    .filter((name) => typeof name === 'string');
  return new Set([...BASE_NAMES, ...given]);
}

function requestsOf(scenario: Scenario): readonly RequestStep[] {
  return scenario.steps.flatMap((step) => {
    if (step.kind === 'request') return [step];
    return step.kind === 'parallel' ? step.requests : [];
  });
}
