/** Memory and cores of the nodes, against what runs there and what is to run. */

import type { Observed } from '../../../kinds/observed.ts';
import type { ResolvedVm } from '../../../kinds/stack.ts';
import { propertyOf } from '../../../kinds/vm/parts.ts';
import { whereOf } from '../../../kinds/vm/where.ts';
import type { VmEntry } from '../../../pve/index.ts';
import type { Examination, NodeSight } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { roughSize } from '../rough-size.ts';
import { baseOf } from '../stack-use.ts';

const MIB = 1024 ** 2;
/** What Proxmox gives a VM of which nobody says anything. */
const DEFAULT_MEMORY_MIB = 512;

interface Load {
  readonly memoryBytes: number;
  readonly cores: number;
}

export function checkCapacity({
  stack,
  observed,
  nodes,
}: Pick<Examination, 'stack' | 'observed' | 'nodes'>): Finding[] {
  return [...nodes].flatMap(([node, sight]) => {
    const vms = stack.vms.filter(({ fields }) => fields.node === node && fields.power === 'running');
    return judge(node, sight, vms, observed);
  });
}

function judge(node: string, { status, vms }: NodeSight, wanted: readonly ResolvedVm[], observed: Observed): Finding[] {
  const say = findingsOf('capacity');
  if (!status.ok) return [say.unread(`Memory and cores of ${node}`, status.needs)];
  const { memory, cpuinfo } = status.value;
  const tooWide = wanted.filter((vm) => loadOf(vm, observed).cores > cpuinfo.cpus);
  const running = vms.filter((vm) => vm.status === 'running');
  const runningIds = new Set<number>(running.map(({ vmid }) => vmid));
  const idle = wanted.filter((vm) => !isRunning(vm, observed, runningIds));
  const [there, planned] = [sum(running.map(loadOfRunning)), sum(idle.map((vm) => loadOf(vm, observed)))];
  const memoryBytes = there.memoryBytes + planned.memoryBytes;
  const cores = there.cores + planned.cores;
  const words = `${node}: ${roughSize(there.memoryBytes)} run, ${roughSize(planned.memoryBytes)} are planned, of ${roughSize(memory.total)} memory; ${there.cores} + ${planned.cores} of ${cpuinfo.cpus} cores.`;
  const findings = tooWide.map((vm) =>
    say.bad(
      `${vm.address} wants ${loadOf(vm, observed).cores} cores and ${node} has ${cpuinfo.cpus}: Proxmox will not start it.`,
      {
        remedy: `Write cpu.cores: ${cpuinfo.cpus} or less.`,
        where: whereOf(vm, 'cpu.cores'),
      },
    ),
  );
  if (memoryBytes > memory.total) {
    return [
      ...findings,
      say.warning(`${words} Memory is promised more than once.`, {
        remedy: 'Place VMs on another node, or give them less: memory, balloon',
      }),
    ];
  }
  if (cores > cpuinfo.cpus && planned.cores > 0) {
    const remedy = 'Fine for guests that idle; for busy ones place them on another node, or write fewer cpu.cores.';
    return [...findings, say.warning(`${words} Cores are shared.`, { remedy })];
  }
  return [...findings, say.good(words)];
}

function isRunning(vm: ResolvedVm, observed: Observed, runningIds: ReadonlySet<number>): boolean {
  const found = observed.vms.get(vm.address);
  return found?.kind === 'present' && runningIds.has(found.vm.vmid);
}

/** What the file says, else what the VM or its template has. */
function loadOf(vm: ResolvedVm, observed: Observed): Load {
  const { memory, cpu } = vm.fields;
  const base = baseOf(vm, observed);
  const inheritedMib = Number(propertyOf('memory', base.get('memory')).get('current') ?? DEFAULT_MEMORY_MIB);
  const cores = cpu?.cores ?? Number(base.get('cores') ?? 1);
  const sockets = cpu?.sockets ?? Number(base.get('sockets') ?? 1);
  return { memoryBytes: memory ?? inheritedMib * MIB, cores: cores * sockets };
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
