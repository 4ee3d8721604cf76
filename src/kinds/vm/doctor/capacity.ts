/** Memory and cores of the nodes, compared with running and planned VMs. */

import type { VmEntry } from '../../../pve/index.ts';
import type { NodeRoom } from '../../change.ts';
import type { Examined } from '../../doctor/examined.ts';
import { type Finding, findingsOf, roughSize } from '../../doctor/finding.ts';
import type { Observed } from '../../observed.ts';
import type { ObservedNode } from '../observe/observed-vms.ts';
import { type Load, loadOf } from '../placement/room.ts';
import { roomWords } from '../placement/words.ts';
import type { ResolvedVm } from '../stack.ts';
import { baseOf } from './examine.ts';

export function checkCapacity({
  stack,
  observed,
  nodes,
  result,
}: Pick<Examined, 'stack' | 'observed' | 'nodes' | 'result'>): Finding[] {
  const room = result.ok ? (result.plan.room ?? []) : [];
  return [...nodes].flatMap(([node, observedNode]) => {
    const vms = stack.vms.filter(({ fields }) => fields.node === node && fields.power === 'running');
    const own = room.filter((each) => each.node === node);
    return judge(node, observedNode, vms, observed).map((finding) => ({ ...finding, ...freeThere(own) }));
  });
}

/** As the plan shows it. */
function freeThere(room: readonly NodeRoom[]): Pick<Finding, 'details'> {
  return room.length === 0 ? {} : { details: room.map((each) => `Free now, and after an apply: ${roomWords(each)}.`) };
}

function judge(
  node: string,
  { status, vms }: ObservedNode,
  desired: readonly ResolvedVm[],
  observed: Observed,
): Finding[] {
  const say = findingsOf('capacity');
  if (!status.ok) return [say.unread(`Memory and cores of ${node}`, status.needs)];
  const { memory, cpuinfo } = status.value;
  const running = vms.filter((vm) => vm.status === 'running');
  const runningIds = new Set<number>(running.map(({ vmid }) => vmid));
  const idle = desired.filter((vm) => !isRunning(vm, observed, runningIds));
  const [there, planned] = [
    sum(running.map(loadOfRunning)),
    sum(idle.map((vm) => loadOf(vm.fields, baseOf(vm, observed)))),
  ];
  const memoryBytes = there.memoryBytes + planned.memoryBytes;
  const cores = there.cores + planned.cores;
  const words = `${node}: ${roughSize(there.memoryBytes)} running + ${roughSize(planned.memoryBytes)} planned of ${roughSize(memory.total)} memory; ${there.cores} + ${planned.cores} of ${cpuinfo.cpus} cores.`;
  if (memoryBytes > memory.total) {
    return [
      say.warning(`${words} Memory is overcommitted.`, {
        remedy: 'Move VMs to another node, or reduce their memory: memory, balloon',
      }),
    ];
  }
  if (cores > cpuinfo.cpus && planned.cores > 0) {
    const remedy = 'This is fine for mostly idle guests. Otherwise move VMs to another node, or reduce cpu.cores.';
    return [say.warning(`${words} Cores are overcommitted.`, { remedy })];
  }
  return [say.good(words)];
}

function isRunning(vm: ResolvedVm, observed: Observed, runningIds: ReadonlySet<number>): boolean {
  const found = observed.vms.get(vm.address);
  return found?.kind === 'present' && runningIds.has(found.vm.vmid);
}

function loadOfRunning({ maxmem = 0, ...rest }: VmEntry): Load {
  return { memoryBytes: maxmem, cores: Number(rest.cpus ?? 0) };
}

function sum(loads: readonly Load[]): Load {
  return loads.reduce(
    (all, each) => ({ memoryBytes: all.memoryBytes + each.memoryBytes, cores: all.cores + each.cores }),
    {
      memoryBytes: 0,
      cores: 0,
    },
  );
}
