/**
 * Where the engine is tested: node, template, bridge, ids. Each can be named by the environment
 * (PROXWRIGHT_ACCEPTANCE_NODE, _TEMPLATE, _STORAGE, _BRIDGE, _IDS, _CLONE_MODE, _POWER, _FIELDS, _EXTRA); what is not named is looked
 * up. Nothing is created here.
 */
import { hasCode } from '../../../src/base/errors.ts';
import { drivesOf, findCloudInitDrive } from '../../../src/kinds/vm/config/disks.ts';
import type { Pve } from '../../../src/pve/index.ts';

const PREFIX = 'PROXWRIGHT_ACCEPTANCE_';
/** Three VMs at first, two more later. */
export const IDS_NEEDED = 5;
/** Far above what people and tools pick. */
const HIGHEST_FIRST_ID = 990_000_900;
const LOWEST_FIRST_ID = 990_000_200;
const GIB = 1024 ** 3;

export interface Target {
  readonly node: string;
  readonly template: number;
  /** For full clones only; undefined leaves the disks where the template's are. */
  readonly storage: string | undefined;
  readonly bridge: string;
  readonly ids: { readonly first: number; readonly last: number };
  readonly mode: 'full' | 'linked';
  readonly power: 'stopped' | 'running';
  /** Further fields of each VM. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly disk: { readonly slot: string; readonly sizeBytes: number; readonly storage: string };
  /** Where a cloud-init drive is made; undefined where the template has one. */
  readonly cloudInitStorage: string | undefined;
}

export async function findTarget(pve: Pve, environment: NodeJS.ProcessEnv): Promise<Target> {
  const setting = (name: string) => environment[`${PREFIX}${name}`]?.trim() || undefined;
  const node = setting('NODE') ?? (await firstOnlineNode(pve));
  const template = await findTemplate(pve, node, setting('TEMPLATE'));
  const disk = drivesOf(template.values).find(({ kind, sizeBytes }) => kind === 'disk' && sizeBytes !== undefined);
  if (!disk) throw new Error(`template ${template.vmid} has no disk with a size to be grown`);
  const diskStorage = disk.file.split(':')[0] ?? 'local';
  const mode = oneOf('CLONE_MODE', setting('CLONE_MODE') ?? 'full', ['full', 'linked'] as const);
  return {
    node,
    template: template.vmid,
    storage: mode === 'full' ? setting('STORAGE') : undefined,
    bridge: setting('BRIDGE') ?? (await firstBridge(pve, node)),
    ids: await freeIds(pve, setting('IDS')),
    mode,
    power: oneOf('POWER', setting('POWER') ?? 'stopped', ['stopped', 'running'] as const),
    fields: furtherFields(setting('FIELDS'), setting('EXTRA')),
    disk: { slot: disk.key, sizeBytes: Math.ceil((disk.sizeBytes ?? 0) / GIB) * GIB, storage: diskStorage },
    cloudInitStorage: findCloudInitDrive(template.values) ? undefined : (setting('STORAGE') ?? diskStorage),
  };
}

/** Both are JSON; the rules of the stack check what is in them. */
function furtherFields(fields = '{}', extra?: string): Record<string, unknown> {
  const own = JSON.parse(fields) as Record<string, unknown>;
  return extra === undefined ? own : { ...own, extra: JSON.parse(extra) as unknown };
}

async function firstOnlineNode(pve: Pve): Promise<string> {
  const node = (await pve.nodes()).find(({ status }) => status === 'online')?.node;
  if (node === undefined) throw new Error('no node is online');
  return node;
}

interface Template {
  readonly vmid: number;
  readonly values: ReadonlyMap<string, string>;
}

/** The one that was named, else the first on the node, those with a cloud-init drive before those without. */
async function findTemplate(pve: Pve, node: string, requested: string | undefined): Promise<Template> {
  const rows = (await pve.cluster.resources({ type: 'vm' }))
    .filter((row) => row.type === 'qemu' && row.template && row.node === node)
    .filter((row) => requested === undefined || String(row.vmid) === requested || row.name === requested)
    .flatMap(({ vmid }) => (vmid === undefined ? [] : [vmid]))
    .sort((a, b) => a - b);
  const templates = await Promise.all(
    rows.map(async (vmid) => ({ vmid, values: (await pve.node(node).vm(vmid).config.get()).values })),
  );
  const found = templates.find(({ values }) => findCloudInitDrive(values)) ?? templates[0];
  if (!found) throw new Error(`the token sees no template ${requested ?? ''} on ${node}; name one: ${PREFIX}TEMPLATE`);
  return found;
}

async function firstBridge(pve: Pve, node: string): Promise<string> {
  const bridge = (await pve.node(node).network({ type: 'any_bridge' }))[0]?.iface;
  if (bridge === undefined) throw new Error(`the token may use no bridge of ${node}; name one: ${PREFIX}BRIDGE`);
  return bridge;
}

/** Ids of which the first few are free: everything that is made is made there. */
async function freeIds(pve: Pve, requested: string | undefined): Promise<Target['ids']> {
  if (requested !== undefined) {
    const [, first, last] = /^(\d+)-(\d+)$/.exec(requested) ?? [];
    const ids = { first: Number(first), last: Number(last) };
    if (!(ids.last - ids.first + 1 >= IDS_NEEDED)) {
      throw new Error(`${PREFIX}IDS must be a range of at least ${IDS_NEEDED} ids, such as 990000100-990000199`);
    }
    if (await areFree(pve, ids.first, IDS_NEEDED)) return ids;
    throw new Error(`the first ${IDS_NEEDED} ids of ${requested} are not free`);
  }
  for (let first = HIGHEST_FIRST_ID; first >= LOWEST_FIRST_ID; first -= 100) {
    if (await areFree(pve, first, IDS_NEEDED)) return { first, last: first + 99 };
  }
  throw new Error(`no ${IDS_NEEDED} ids in a row are free; name a range: ${PREFIX}IDS`);
}

async function areFree(pve: Pve, first: number, count: number): Promise<boolean> {
  for (let vmid = first; vmid < first + count; vmid++) if (!(await isFree(pve, vmid))) return false;
  return true;
}

export async function isFree(pve: Pve, vmid: number): Promise<boolean> {
  try {
    await pve.cluster.assertFree(vmid);
    return true;
  } catch (error) {
    if (hasCode(error, 'VMID_TAKEN')) return false;
    throw error;
  }
}

function oneOf<const Words extends readonly string[]>(name: string, value: string, words: Words): Words[number] {
  const word = words.find((each) => each === value);
  if (word === undefined) throw new Error(`${PREFIX}${name} must be one of ${words.join(', ')}, not ${value}`);
  return word;
}
