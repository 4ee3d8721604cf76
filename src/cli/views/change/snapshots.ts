/** The snapshots of the VMs of a stack: a table for people, one object per VM for programs. */
import type { Address } from '../../../base/address.ts';
import { markOf, type Snapshot, textOf } from '../../../kinds/vm/snapshot/snapshots.ts';
import type { Paint } from '../text/paint.ts';
import { renderTable } from '../text/table.ts';
import { chooseView, type ViewDeps } from '../view.ts';

interface Vm {
  readonly address: Address;
  readonly name: string;
  readonly vmid: number;
  readonly node: string;
}

export type SnapshotsOfVm =
  /** `current`: the one that the present state of the VM descends from. */
  | (Vm & { readonly snapshots: readonly Snapshot[]; readonly current: string | undefined })
  /** The privilege that the token lacks to read them. */
  | (Vm & { readonly needs: string });

export interface SnapshotsView {
  list(vms: readonly SnapshotsOfVm[]): void;
}

export function snapshotsView(deps: ViewDeps): SnapshotsView {
  return chooseView<SnapshotsView>(deps, {
    human: ({ terminal, print, paint }) => ({
      list: (vms) => {
        const unread = vms.filter((vm) => 'needs' in vm);
        for (const { address, needs } of unread) {
          terminal.log('warn', `${address}: its snapshots cannot be read; the token needs ${needs}.`);
        }
        const hasAny = vms.some((vm) => 'snapshots' in vm && vm.snapshots.length > 0);
        if (hasAny) print(renderSnapshots(vms, paint));
        else terminal.log('info', 'There are no snapshots. To take one: proxwright snapshot create NAME');
      },
    }),
    json: ({ print }) => ({ list: (vms) => print(vms.map(toJson)) }),
  });
}

function renderSnapshots(vms: readonly SnapshotsOfVm[], paint: Paint): string[] {
  const rows = vms.flatMap((vm) => {
    if ('needs' in vm) return [];
    return vm.snapshots.map((snapshot) => [
      vm.address,
      `${snapshot.name}${snapshot.name === vm.current ? ' *' : ''}`,
      timeOf(snapshot)?.replace(/\.\d+Z$/, 'Z') ?? '',
      snapshot.state === undefined ? (snapshot.hasMemory ? 'with memory' : '') : `not complete (${snapshot.state})`,
      takenBy(snapshot),
      textOf(snapshot.description).split('\n')[0] ?? '',
    ]);
  });
  return [
    ...renderTable(['VM', 'snapshot', 'taken', 'state', 'by', 'description'], rows, paint),
    paint('dim', '* the VM continues from this one'),
  ];
}

function takenBy({ description }: Snapshot): string {
  const mark = markOf(description);
  if (!mark) return 'another client';
  return mark.why === 'before_change' ? `apply ${mark.run}` : `run ${mark.run}`;
}

function timeOf({ takenAt }: Snapshot): string | undefined {
  return takenAt === undefined ? undefined : new Date(takenAt).toISOString();
}

/** The shape that programs read. */
function toJson(vm: SnapshotsOfVm) {
  if ('needs' in vm) return vm;
  const { snapshots, current, ...rest } = vm;
  return {
    ...rest,
    snapshots: snapshots.map((snapshot) => {
      const { name, parent, hasMemory, state, description } = snapshot;
      const mark = markOf(description);
      return {
        name,
        takenAt: timeOf(snapshot) ?? null,
        parent: parent ?? null,
        isCurrent: name === current,
        hasMemory,
        state: state ?? 'complete',
        description: textOf(description),
        run: mark?.run ?? null,
        isAutomatic: mark?.why === 'before_change',
      };
    }),
  };
}
