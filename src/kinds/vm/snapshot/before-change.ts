/** The snapshot that an apply takes before it changes a running VM, and the older ones that it then deletes. Pure. */
import { ProxwrightError } from '../../../base/errors.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Findings } from '../../kind.ts';
import type { Step } from '../../step.ts';
import type { VmFields } from '../fields/index.ts';
import type { VmObserved } from '../observed.ts';
import type { VmPlanInput } from '../plan/desired-vm.ts';
import type { VmRecord } from '../record.ts';
import { vmStep } from '../steps.ts';
import { snapshotProblems } from './obstacles.ts';
import { isAutomatic } from './snapshots.ts';

interface SnapshotPolicy {
  readonly keep: number;
  readonly memory: boolean;
}

const DEFAULT: SnapshotPolicy = { keep: 3, memory: false };

/** Undefined if the file asks for none. */
export function snapshotPolicy({ snapshot }: Pick<VmFields, 'snapshot'>): SnapshotPolicy | undefined {
  if (snapshot === undefined || snapshot === 'never') return undefined;
  if (snapshot === 'before_change') return DEFAULT;
  return snapshot.when === 'before_change' ? snapshot : undefined;
}

/** Steps that change what a running VM is, or that restart it. */
const TOUCHES: ReadonlySet<string> = new Set(['vm.configure', 'vm.resize', 'vm.restart']);
/** Steps that Proxmox refuses for a disk in a snapshot, or for a VM that has one. */
const PREVENTED: ReadonlySet<string> = new Set(['vm.move-disk', 'vm.migrate']);

interface Guarded {
  readonly steps: readonly Step[];
  readonly notes: readonly string[];
}

/** The steps of a change, preceded by the snapshot that the file asks for. */
export function guarded(
  input: VmPlanInput,
  recorded: VmRecord,
  actual: VmObserved,
  change: { readonly steps: readonly Step[]; readonly removed: ReadonlySet<string> },
  findings: Findings,
): Guarded {
  const { vm, observed, stackName } = input;
  const { steps, removed } = change;
  const unguarded = { steps, notes: [] };
  const policy = snapshotPolicy(vm.fields);
  if (!policy || !actual.running || !steps.some(({ action }) => TOUCHES.has(action) || PREVENTED.has(action))) {
    return unguarded;
  }
  const read = observed.snapshots?.get(vm.address);
  if (!read?.ok) {
    findings.problems.push(notRead(input, read?.needs ?? 'VM.Audit'));
    return unguarded;
  }
  if (removed.size > 0 || steps.some(({ action }) => PREVENTED.has(action))) {
    return { steps, notes: [NO_SNAPSHOT] };
  }
  const { list } = read.value;
  const { guardedBy = [] } = recorded;
  // An earlier run took it, and did not finish the change.
  const earlier = list.find(({ name, state }) => state === undefined && guardedBy.includes(name));
  if (earlier) return { steps, notes: [`snapshot ${earlier.name} was taken before this change began`] };
  const where = whereOf(vm, 'snapshot');
  const problems = snapshotProblems({ vm: actual, snapshots: read.value, memory: policy.memory, observed, where });
  findings.problems.push(...problems);
  const own = list.filter((each) => isAutomatic(each, stackName));
  const old = own.slice(0, Math.max(0, own.length + 1 - policy.keep));
  const { address } = vm;
  const taking = [
    vmStep(address, 'vm.snapshot', { memory: policy.memory }),
    ...old.map(({ name }) => vmStep(address, 'vm.delete-snapshot', { name, onlyAutomatic: true }, { part: name })),
  ];
  const [first, ...rest] = steps;
  const chained = taking.map((step, index) => ({ ...step, needs: taking.slice(index - 1, index).map(({ id }) => id) }));
  const last = chained.at(-1);
  return {
    steps: first && last ? [...chained, { ...first, needs: [...first.needs, last.id] }, ...rest] : steps,
    notes: [],
  };
}

const NO_SNAPSHOT =
  'no snapshot is taken before this change: Proxmox does not move or remove a disk that is part of a snapshot';

function notRead({ vm }: VmPlanInput, needs: string) {
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    where: whereOf(vm, 'snapshot'),
    detail: `The snapshots of ${vm.fields.name} cannot be read: the token needs ${needs}.`,
    hint: 'Grant it to the user and to its token, then run the plan again.',
  }).diagnostic;
}
