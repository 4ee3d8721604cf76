/**
 * What a field row promises, tried out: the engine applies a VM, then the same VM with one field changed while it runs. The
 * simulator decides under which key the value ends up and whether the change is pending; the plan said it before.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { valueAt } from '../../../src/kinds/fields/field-table.ts';
import { desiredConfig } from '../../../src/kinds/vm/config/desired-config.ts';
import { isFieldSatisfied } from '../../../src/kinds/vm/diff/merge.ts';
import { desiredValue, shownValue } from '../../../src/kinds/vm/diff/shown.ts';
import type { VmFields } from '../../../src/kinds/vm/fields/index.ts';
import type { WireRow } from '../../../src/kinds/vm/fields/rows.ts';
import { vmFieldsArbitrary } from '../../../src/kinds/vm/testing/arbitrary-vm.ts';
import { passwordCredentials } from '../../../src/pve/index.ts';
import { byDepth } from '../../support/depth.ts';
import { driftWorld, stackOf, VM_SITES } from '../engine/support/drift-world.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { GUEST_PASSWORD, Scene, secretsOf } from '../engine/support/scene.ts';

/** What the VM may change while it runs; memory needs NUMA. */
const ALL_HOTPLUG_SETTINGS: readonly Partial<VmFields>[] = [
  {},
  { hotplug: [] },
  { hotplug: ['network', 'disk', 'usb', 'cpu', 'memory'], cpu: { numa: true } },
];
const HOTPLUG_SETTINGS = ALL_HOTPLUG_SETTINGS.slice(0, byDepth(1, ALL_HOTPLUG_SETTINGS.length));
/** Changes that must have been seen for each setting, and how many of each kind are tried for that. */
const ENOUGH = 1;
const MOST_OF_A_KIND = 4;

const ROOT = passwordCredentials({ username: 'root@pam', password: 'proxwright' });
const PCI_MAPPINGS = new Map([['0000:01:00', 'card']]);

/** Long enough for a guest to boot: without one, nothing can be unplugged. */
const BOOT_MS = 5 * 60_000;

/** Clones of a template with a system that boots, and of one that has more disks, cards and a CD drive. */
const TEMPLATES = VM_SITES.filter(({ template }) => template !== undefined).reverse();

interface Sample {
  readonly fields: VmFields;
  /** What the template has. */
  readonly inherited: ReadonlyMap<string, string>;
}

const samples = (asRoot: boolean): readonly Sample[] =>
  TEMPLATES.flatMap((site) =>
    fc
      .sample(vmFieldsArbitrary({ ...site, asRoot }), { numRuns: 250, seed: 21 })
      .map((fields, index) => ({ fields, inherited: site.values, index })),
  ).sort((a, b) => a.index - b.index);

/** What a token may write, and what only root may. */
const SAMPLES = { token: samples(false), root: samples(true) };

/** One field of a VM, changed. */
interface Change {
  /** `disks.scsi5.cache`. */
  readonly path: string;
  readonly before: VmFields;
  readonly after: VmFields;
}

/** Empty where the simulator does what the row says. */
export async function behaviourProblems(row: WireRow): Promise<string[]> {
  const kinds = changesOf(row);
  if (kinds.every((changes) => changes.length === 0)) return [`${row.path}: no random VM has it`];
  const problems: string[] = [];
  for (const setting of HOTPLUG_SETTINGS) {
    const name = `${row.path} with hotplug ${setting.hotplug?.join(',') ?? 'by default'}`;
    const obstacles: string[] = [];
    let seen = 0;
    for (const changes of kinds) {
      let tries = 0;
      for (const change of changes) {
        if (seen >= ENOUGH || problems.length > 0 || tries >= MOST_OF_A_KIND) break;
        const found = await tried(row, withSetting(change, setting));
        problems.push(...found.problems.map((each) => `${name}: ${each}`));
        obstacles.push(...found.obstacles);
        if (found.isConclusive) seen++;
        // A guest that does not boot keeps its devices, which says nothing about the row.
        if (!found.obstacles.some((each) => each.includes('still busy in guest'))) tries++;
      }
    }
    if (seen === 0 && problems.length === 0) problems.push(`${name}: nothing was seen: ${obstacles.join('; ')}`);
    if (problems.length > 0) break;
  }
  return problems;
}

interface Trial {
  readonly problems: readonly string[];
  /** Why it shows nothing. */
  readonly obstacles: readonly string[];
  readonly isConclusive: boolean;
}

async function tried(row: WireRow, { path, before, after }: Change): Promise<Trial> {
  const obstacle = (...obstacles: string[]): Trial => ({ problems: [], obstacles, isConclusive: false });
  const scene = new Scene({ world: driftWorld, seed: path, ...(row.facts.rootOnly && { credentials: ROOT }) });
  const first = await scene.apply(stackOf(before));
  const vm = scene.world.vms.get(401);
  if (first.kind !== 'ended' || !vm?.process) return obstacle('it does not start', ...failuresOf(first));
  const old = vm.config;
  await scene.clock.run(() => scene.clock.sleep(BOOT_MS));
  const second = await scene.apply(stackOf(after), { checkPrivileges: false });
  const { current, pending, pendingDeletes } = vm.config;
  const failures = failuresOf(second);
  if (second.kind !== 'ended') return obstacle(...failures);
  const isOfRow = (each: string) => each === path || each.startsWith(`${path}.`);
  const difference = second.plan.changes.flatMap(({ differences }) => differences).find((each) => isOfRow(each.path));
  if (!difference || difference.effect === 'impossible') return obstacle(`the plan has no change of ${path}`);
  const { key } = difference;
  const isPending = pending.has(key) || pendingDeletes.has(key);
  if (!isPending && current.get(key) === old.current.get(key)) return obstacle(`${key} is as before`, ...failures);
  const text = pendingDeletes.has(key) ? undefined : (pending.get(key) ?? current.get(key));
  const actual = isPending ? 'restart' : 'live';
  const written = [JSON.stringify(second.plan), ...scene.logs, ...(await scene.snapshot()).documents.values()];
  return {
    obstacles: [],
    isConclusive: true,
    problems: [
      ...(actual === difference.effect ? [] : [`${path} is ${actual}, and the plan said ${difference.effect}`]),
      ...(row.family === 'drive' || key.startsWith(row.family.replace('[n]', '')) ? [] : [`${path} is in ${key}`]),
      ...readProblems(after, path, key, text),
      ...(written.some((each) => each.includes(GUEST_PASSWORD)) ? [`${path} shows the secret`] : []),
    ],
  };
}

/** Whether the text in the configuration says again what the file says. */
function readProblems(fields: VmFields, path: string, key: string, text: string | undefined): string[] {
  const [vm] = stackOf(fields).vms;
  const secrets = vm && secretsOf(stackOf(fields)).get(vm.address);
  const entry = desiredConfig(fields, { secrets, pciMappings: PCI_MAPPINGS, ownershipLine: 'ignored' }).get(key);
  const field = entry?.fields.find((each) => each.path === path || each.path.startsWith(`${path}.`));
  if (!entry || !field) return [`${path} is not behind ${key}`];
  // The line names the VM, which is only known by now.
  if (field.words === 'ownership-line') return [];
  const [desired, read] = [desiredValue(field), shownValue(entry, field, text)];
  // A volume may be larger, not every storage shows its format, none its source; and Proxmox drops notes that say 0.
  if (['disk-size', 'image-format', 'import-source', 'notes'].includes(field.words)) {
    return isFieldSatisfied(entry, field, text) ? [] : [`${path} is not in ${key}: ${text}`];
  }
  return isDeepStrictEqual(folded(desired), folded(read)) ? [] : [`${path} reads ${read} from ${key}: ${text}`];
}

/** Proxmox sorts and lower-cases tags; the case of an address means nothing. */
function folded(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((each) => String(each).toLowerCase()))].sort();
  return typeof value === 'string' ? value.trim().toLowerCase() : value;
}

function withSetting({ path, before, after }: Change, setting: Partial<VmFields>): Change {
  const set = (fields: VmFields): VmFields => ({
    ...fields,
    ...(path !== 'hotplug' && setting.hotplug && { hotplug: setting.hotplug }),
    ...(setting.cpu && { cpu: { ...setting.cpu, ...fields.cpu } }),
  });
  return { path, before: set(before), after: set(after) };
}

/** By kind: from one value to another, from none to one, and of a device that the template lacks, from no device to one. */
function changesOf(row: WireRow): Change[][] {
  const all = SAMPLES[row.facts.rootOnly ? 'root' : 'token'].flatMap((sample) =>
    concretePaths(sample.fields, row.path).map((path) => {
      const fields = reduced(sample.fields, path);
      return { path, value: valueAt(fields, path), fields, isNew: !sample.inherited.has(path.split('.')[1] ?? '') };
    }),
  );
  // Every value once before any comes again, long ones first: a list of one element does not show its separator. Then every slot.
  const isFirst = (each: (typeof all)[number]) =>
    all.find(({ value }) => isDeepStrictEqual(value, each.value)) === each;
  const isFirstInSlot = (each: (typeof all)[number]) => all.find(({ path }) => path === each.path) === each;
  const length = ({ value }: { value: unknown }) => JSON.stringify(value).length;
  const others = all.filter((each) => !isFirst(each));
  const cases = [
    ...all.filter(isFirst).sort((a, b) => length(b) - length(a)),
    ...others.filter(isFirstInSlot),
    ...others.filter((each) => !isFirstInSlot(each)),
  ];
  const changes = cases.map(({ path, value, fields, isNew }): Change[] => {
    const other = cases.find((each) => each.path === path && !isDeepStrictEqual(each.value, value));
    const owner = path.split('.').slice(0, -1).join('.');
    return [
      ...(other ? [{ path, before: withValue(fields, path, other.value), after: fields }] : []),
      { path, before: withValue(fields, path, undefined), after: fields },
      ...(owner !== '' && isNew ? [{ path, before: withValue(fields, owner, undefined), after: fields }] : []),
    ];
  });
  // One of each kind first, over all samples.
  return [0, 1, 2].map((kind) => changes.flatMap((each) => each[kind] ?? []));
}

/** `disks.*.cache` → `disks.scsi5.cache`, for each slot that has it. */
function concretePaths(fields: VmFields, path: string): string[] {
  const [block = '', rest] = path.split('.*.');
  const slots = rest === undefined ? undefined : valueAt(fields, block);
  const all = rest === undefined ? [path] : Object.keys(slots ?? {}).map((slot) => `${block}.${slot}.${rest}`);
  return all.filter((each) => valueAt(fields, each) !== undefined);
}

const SLOT_BLOCKS = ['disks', 'nics', 'pci', 'usb', 'virtiofs'];
/** Fields without which a block is refused, or means nothing. */
const COMPANIONS: Readonly<Record<string, readonly (keyof VmFields)[] | undefined>> = {
  efi: ['bios'],
  machine_options: ['machine'],
  numa_nodes: ['cpu', 'memory'],
  rng_limit: ['rng'],
};

/** The VM with nothing in it but what belongs to the field, running. */
function reduced(fields: VmFields, path: string): VmFields {
  const [block = '', slot = ''] = path.split('.');
  const { name, node, clone, guest, ownership, restart } = fields;
  const part = valueAt(fields, block);
  const own = SLOT_BLOCKS.includes(block) ? { [slot]: valueAt(fields, `${block}.${slot}`) } : part;
  const devices = block === 'boot' ? { disks: fields.disks, nics: fields.nics } : {};
  // The simulated host has no device to pass through, so a VM that boots from one does not start.
  const startable = block === 'boot' ? fields.boot?.filter((device) => !/^(usb|hostpci)/.test(device)) : undefined;
  const kept = { ...devices, name, node, clone, guest, ownership, restart, power: 'running' } as const;
  const companions = Object.fromEntries((COMPANIONS[block] ?? []).map((name) => [name, fields[name]]));
  return { ...kept, ...companions, [block]: startable ?? own } as VmFields; // a part of a valid VM
}

/** Only what is on the way is copied: this is done for every sample of every row. */
function withValue<Owner extends object>(owner: Owner, path: string, value: unknown): Owner {
  const [step = '', ...rest] = path.split('.');
  const { [step]: inner, ...others } = owner as Record<string, unknown>; // plain data
  if (rest.length === 0) return (value === undefined ? others : { ...owner, [step]: value }) as Owner;
  return typeof inner === 'object' && inner !== null
    ? { ...owner, [step]: withValue(inner, rest.join('.'), value) }
    : owner;
}
