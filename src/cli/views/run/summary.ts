/** The end of a run as a table: VM, id, node, address, time per stage. */
import { kindOf } from '../../../base/address.ts';
import { printDuration } from '../../../base/values/units.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import type { Paint } from '../text/paint.ts';
import { fitsWidth, renderTable } from '../text/table.ts';
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

/** If a VM has two entries, the later one counts. Where a column for each stage does not fit, the longest stages share one. */
export function renderSummary(timeline: Timeline, vms: readonly SummaryVm[], paint: Paint): string[] {
  const views = new Map<string, SummaryVm>(vms.map((vm) => [vm.address, vm]));
  const isAllVms = timeline.vms.every(({ address }) => kindOf(address) === 'vm');
  const head = [isAllVms ? 'VM' : 'what', 'name', 'id', 'node', 'address', 'result'];
  const facts = timeline.vms.map((vm) => {
    const view = views.get(vm.address);
    return [
      vm.address,
      view?.name ?? '',
      String(view?.vmid ?? ''),
      view?.node ?? '',
      view?.ip ?? '',
      outcome(vm, paint),
    ];
  });
  const join = (cellsOf: (vm: VmTimeline) => string[]) =>
    timeline.vms.map((vm, at) => [...(facts[at] ?? []), ...cellsOf(vm)]);
  const wide = [...head, ...STAGE_NAMES, 'total'];
  const rows = join((vm) => [...STAGE_NAMES.map((stage) => duration(vm.durationsMs[stage])), duration(totalMs(vm))]);
  if (fitsWidth(wide, rows, paint)) return renderTable(wide, rows, paint);
  const withLongest = (most: number) => join((vm) => [duration(totalMs(vm)), longestStages(vm, most)]);
  const titles = [...head, 'total', 'longest'];
  const two = withLongest(2);
  return renderTable(titles, fitsWidth(titles, two, paint) ? two : withLongest(1), paint);
}

const totalMs = ({ startedAt, endedAt }: VmTimeline) =>
  startedAt === undefined || endedAt === undefined ? undefined : endedAt - startedAt;

function longestStages({ durationsMs }: VmTimeline, most: number): string {
  return STAGE_NAMES.map((stage) => [stage, durationsMs[stage] ?? 0] as const)
    .filter(([, ms]) => ms > 0)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([stage, ms]) => `${stage} ${printDuration(ms)}`)
    .join(', ');
}

function outcome({ status }: VmTimeline, paint: Paint): string {
  const style = status === 'done' ? 'green' : status === 'failed' ? 'red' : 'yellow';
  return paint(style, OUTCOMES[status]);
}

const duration = (ms: number | undefined) => (ms === undefined ? '' : printDuration(ms));
