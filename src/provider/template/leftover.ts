/**
 * What a process that died left of a template: one that it was building, marked as incomplete in its ownership line, or one
 * that it had finished and could not tell the host of. Both are recognised by that line, and neither is built again.
 */
import { ProxwrightError } from '../../base/errors.ts';
import type { ResolvedTemplate } from '../../kinds/stack.ts';
import { readVm, type VmObserved } from '../../kinds/vm/observed.ts';
import { findOwnership, type Ownership, ownershipCounts } from '../../kinds/vm/ownership.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { isNotFound, type Pve } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';
import { isMark, type ListedVm } from '../vm/incomplete.ts';
import { ownerName } from '../vm/owner.ts';

export interface Unfinished {
  readonly kind: 'unfinished';
  readonly vm: VmObserved;
  readonly nonce: string;
  /** What it was being made from. */
  readonly recipe: string;
}

/** Of this recipe, and perhaps of another owner. */
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
  { signal }: Surroundings,
  pve: Pve,
  listed: readonly ListedVm[],
  { template, recipe, known }: LeftoverQuery,
): Promise<Leftover | undefined> {
  const { name, vm } = template;
  // While an earlier version has the name, the one that is built is called otherwise, but always begins like it.
  const rows = listed.filter((row) => row.node === vm.fields.node && !known.has(row.vmid) && isNameOf(row.name, name));
  const found = (await Promise.all(rows.map((row) => leftoverIn(pve, row, template, recipe, signal)))).filter(
    (each) => each !== undefined,
  );
  const [unfinished, second] = found.filter(({ kind }) => kind === 'unfinished');
  if (second) {
    const places = found.map((each) => each.vm.vmid).join(', ');
    throw new ProxwrightError({
      code: 'NOT_OURS',
      detail: `Earlier runs left several unfinished versions of the template "${name}": ${places}. Which of them is meant cannot be told.`,
      where: { field: 'name' },
      hint: 'Remove all but one of them by hand.',
    });
  }
  return unfinished ?? found.find(({ kind }) => kind === 'finished');
}

const SUFFIX = '-next';

function isNameOf(listed: string | undefined, name: string): boolean {
  return listed === name || (listed?.endsWith(SUFFIX) === true && name.startsWith(listed.slice(0, -SUFFIX.length)));
}

async function leftoverIn(
  pve: Pve,
  { node, vmid, running }: ListedVm,
  template: ResolvedTemplate,
  recipe: string,
  signal: AbortSignal,
): Promise<Leftover | undefined> {
  const vm = await readVm(pve, node, vmid, { running, signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const line = vm && findOwnership(vm.current.get('description') ?? '');
  if (!vm || !line) return undefined;
  if (isMark(line, vmid, ownerName(pve)) && line.address === template.vm.address) {
    return { kind: 'unfinished', vm, nonce: line.nonce, recipe: line.recipe ?? '' };
  }
  return isFinished(line, vm, recipe) ? { kind: 'finished', vm, owner: line.stack } : undefined;
}

function isFinished(line: Ownership, vm: VmObserved, recipe: string): boolean {
  return vm.template && !line.incomplete && line.recipe === recipe && ownershipCounts(line, vm);
}

/** What the run that left it would remember of it. */
export function memoryOfLeftover({ vm, nonce, recipe }: Unfinished): VmRecord {
  const { vmid, node, uuid, current } = vm;
  return {
    vmid,
    node,
    name: current.get('name') ?? '',
    lastApplied: {},
    secrets: {},
    macs: {},
    addresses: {},
    ...(uuid !== undefined && { uuid }),
    nonce,
    phase: uuid === undefined ? 'creating' : 'incomplete',
    template: { recipe },
  };
}
