/** The end of a run as a table: VM, id, node, address, time per stage. */
import { kindOf } from '../../../base/address.ts';
import { printDuration } from '../../../base/values/units.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import type { Paint } from '../text/paint.ts';
import { renderTable } from '../text/table.ts';
import { STAGE_NAMES, type Timeline, type VmTimeline } from './timeline.ts';

const OUTCOMES: Readonly<Record<VmTimeline['status'], string>> = {
  waiting: 'not begun',
  working: 'under way',
  done: 'done',
  failed: 'failed',
  notReady: 'not ready',
  canceled: 'stopped',
  skipped: 'not begun',
};

/** What the table says of a VM beside its times. */
export interface SummaryVm extends Pick<MachineView, 'name' | 'vmid' | 'node' | 'ip'> {
  readonly address: string;
}

/** If a VM has two entries, the later one counts. */
export function renderSummary(timeline: Timeline, vms: readonly SummaryVm[], paint: Paint): string[] {
  const views = new Map<string, SummaryVm>(vms.map((vm) => [vm.address, vm]));
  const isAllVms = timeline.vms.every(({ address }) => kindOf(address) === 'vm');
  const head = [isAllVms ? 'VM' : 'what', 'name', 'id', 'node', 'address', 'result', ...STAGE_NAMES, 'total'];
  const rows = timeline.vms.map((vm) => {
    const view = views.get(vm.address);
    const totalMs = vm.startedAt === undefined || vm.endedAt === undefined ? undefined : vm.endedAt - vm.startedAt;
    return [
      vm.address,
      view?.name ?? '',
      String(view?.vmid ?? ''),
      view?.node ?? '',
      view?.ip ?? '',
      outcome(vm, paint),
      ...STAGE_NAMES.map((stage) => duration(vm.durationsMs[stage])),
      duration(totalMs),
    ];
  });
  return renderTable(head, rows, paint);
}

function outcome({ status }: VmTimeline, paint: Paint): string {
  const style = status === 'done' ? 'green' : status === 'failed' ? 'red' : 'yellow';
  return paint(style, OUTCOMES[status]);
}

const duration = (ms: number | undefined) => (ms === undefined ? '' : printDuration(ms));
