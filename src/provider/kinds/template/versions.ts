/**
 * The versions of a template: what is recorded about them, and what a dead process left. An unfinished one is marked as
 * incomplete in its ownership line; a finished one, which the process could not report to the host, is recognized by
 * the recipe in that line. Neither is built again.
 */
import { z } from 'zod';
import type { Address } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { StackState } from '../../../kinds/recorded.ts';
import type { ResolvedTemplate } from '../../../kinds/template/stack.ts';
import { retiredAddress } from '../../../kinds/template/versions.ts';
import type { VmObserved } from '../../../kinds/vm/observed.ts';
import { type Ownership, ownershipCounts } from '../../../kinds/vm/ownership.ts';
import { appliedSchema, type VmRecord } from '../../../kinds/vm/record.ts';
import type { Pve } from '../../../pve/index.ts';
import { numberAt, textAt } from '../../adapter/attributes.ts';
import { type EngineWork, ownerName } from '../../adapter/engine-run.ts';
import { privateFormat } from '../../adapter/private-state.ts';
import type { CtyObject } from '../../cty/value.ts';
import { isMark, type ListedVm, ownershipOf } from '../vm/leftovers.ts';

const versionSchema = z.object({ vmid: z.number().int(), uuid: z.string(), node: z.string() });

const schema = z.object({
  /** Dotted paths of the attributes that the configuration set when it was last applied. */
  managed: z.array(z.string()),
  /** Field path → value, as the engine records it. */
  applied: appliedSchema,
  /** Versions before this one. */
  retired: z.array(versionSchema),
  /** Another owner built this version, from the same recipe. It stays. */
  owner: z.string().optional(),
  /** It is no longer what it was built as. */
  changed: z.literal(true).optional(),
});

export type TemplatePrivate = z.output<typeof schema>;
export type RetiredVersion = z.output<typeof versionSchema>;

export const NOTHING_KEPT: TemplatePrivate = { managed: [], applied: {}, retired: [] };

export const TEMPLATE_PRIVATE_STATE = privateFormat<TemplatePrivate>(schema, NOTHING_KEPT);

const EMPTY = { lastApplied: {}, secrets: {}, macs: {}, addresses: {} };

/** Stands for an unknown recipe; it equals no real one. */
const NO_RECIPE = 'none';

export function recordedTemplate(state: CtyObject, { applied }: TemplatePrivate): VmRecord {
  const uuid = textAt(state, 'uuid');
  return {
    ...EMPTY,
    vmid: numberAt(state, 'vmid') ?? 0,
    ...(uuid !== undefined && { uuid }),
    node: (textAt(state, 'id') ?? '').split('/')[0] || (textAt(state, 'node') ?? ''),
    name: textAt(state, 'name') ?? '',
    phase: 'complete',
    lastApplied: applied,
    template: { recipe: textAt(state, 'recipe') ?? NO_RECIPE, finished: true },
  };
}

export function recordedVersion({ vmid, uuid, node }: RetiredVersion, name: string): VmRecord {
  return { ...EMPTY, vmid, uuid, node, name, phase: 'complete', template: { recipe: NO_RECIPE, finished: true } };
}

export function versionOf({ vmid, uuid, node }: VmRecord): RetiredVersion[] {
  return uuid === undefined ? [] : [{ vmid, uuid, node }];
}

export interface Versions {
  /** The one that exists or is being built. */
  readonly current: VmRecord | undefined;
  readonly retired: readonly RetiredVersion[];
}

export function recordedVersions(
  { name, vm: { address } }: ResolvedTemplate,
  { current, retired }: Versions,
): EngineWork['recorded'] {
  const earlier = retired.map((version): [string, VmRecord] => [
    retiredAddress(name, version.vmid),
    recordedVersion(version, name),
  ]);
  return { vms: Object.fromEntries([...earlier, ...(current ? [[address, current] as const] : [])]) };
}

/** The versions after a run. */
export function versionsIn({ vms }: StackState, address: Address): Versions {
  const retired = Object.entries(vms).flatMap(([each, vm]) => (each.startsWith('retired.') ? versionOf(vm) : []));
  return { current: vms[address], retired };
}

export interface Unfinished {
  readonly kind: 'unfinished';
  readonly vm: VmObserved;
  readonly nonce: string;
  /** What it was being built from. */
  readonly recipe: string;
}

/** Built from the desired recipe, perhaps by another owner. */
export interface Finished {
  readonly kind: 'finished';
  readonly vm: VmObserved;
  readonly owner: string;
}

export type Leftover = Unfinished | Finished;

export interface LeftoverQuery {
  readonly template: ResolvedTemplate;
  readonly recipe: string;
  /** Ids of versions that the host knows. */
  readonly known: ReadonlySet<number>;
}

/** Undefined for a fresh start. */
export async function findLeftover(
  pve: Pve,
  listed: readonly ListedVm[],
  { template, recipe, known }: LeftoverQuery,
  signal: AbortSignal,
): Promise<Leftover | undefined> {
  const { name, vm } = template;
  const rows = listed.filter((row) => row.node === vm.fields.node && !known.has(row.vmid) && isNameOf(row.name, name));
  const found = (await Promise.all(rows.map((row) => leftoverIn(pve, row, template, recipe, signal)))).filter(
    (each) => each !== undefined,
  );
  const [unfinished, second] = found.filter(({ kind }) => kind === 'unfinished');
  if (second) {
    const places = found.map((each) => each.vm.vmid).join(', ');
    throw new ProxwrightError({
      code: 'AMBIGUOUS',
      detail: `Earlier runs left several unfinished versions of the template "${name}": ${places}. Proxwright cannot tell which one to complete.`,
      where: { field: 'name' },
      hint: 'Remove all but one of them by hand.',
    });
  }
  return unfinished ?? found.find(({ kind }) => kind === 'finished');
}

const SUFFIX = '-next';

/** While an earlier version has the name, the new one is called after it, with a suffix. */
function isNameOf(listed: string | undefined, name: string): boolean {
  return listed === name || (listed?.endsWith(SUFFIX) === true && name.startsWith(listed.slice(0, -SUFFIX.length)));
}

async function leftoverIn(
  pve: Pve,
  row: ListedVm,
  template: ResolvedTemplate,
  recipe: string,
  signal: AbortSignal,
): Promise<Leftover | undefined> {
  const { vm, line } = await ownershipOf(pve, row, signal);
  if (!vm || !line) return undefined;
  if (isMark(line, row.vmid, ownerName(pve)) && line.address === template.vm.address) {
    return { kind: 'unfinished', vm, nonce: line.nonce, recipe: line.recipe ?? '' };
  }
  return isFinished(line, vm, recipe) ? { kind: 'finished', vm, owner: line.stack } : undefined;
}

function isFinished(line: Ownership, vm: VmObserved, recipe: string): boolean {
  return vm.template && !line.incomplete && line.recipe === recipe && ownershipCounts(line, vm);
}

/** What the run that left it would have recorded. */
export function recordedUnfinished({ vm, nonce, recipe }: Unfinished): VmRecord {
  const { uuid } = vm;
  return { ...identityOf(vm), nonce, phase: uuid === undefined ? 'creating' : 'incomplete', template: { recipe } };
}

export function recordedFinished({ vm }: Finished, recipe: string): VmRecord {
  return { ...identityOf(vm), phase: 'complete', template: { recipe, finished: true } };
}

function identityOf({ vmid, uuid, node, current }: VmObserved) {
  return { ...EMPTY, vmid, ...(uuid !== undefined && { uuid }), node, name: current.get('name') ?? '' };
}
