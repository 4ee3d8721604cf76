/** The output files of a stack, as data; writing them is the business of the front door. */
import type { StackOutputs } from './outputs.ts';
import type { VmView } from './vm-view.ts';

export interface OutputFile {
  /** Without a directory. */
  readonly name: string;
  readonly text: string;
}

/** For each VM that has an id: its address alone, and a summary. */
export function outputFiles({ vms }: Pick<StackOutputs, 'vms'>): OutputFile[] {
  return vms.flatMap((vm) =>
    vm.vmid === null
      ? []
      : [
          // Empty while no address is known, so that a script finds the file and sees that there is none.
          { name: `vm_${vm.vmid}_ip.txt`, text: vm.ip === null ? '' : `${vm.ip}\n` },
          { name: `vm_${vm.vmid}_summary.txt`, text: summary(vm) },
        ],
  );
}

function summary({ name, vmid, node, role, status, ip, nics }: VmView): string {
  const lines = [
    ['name', name],
    ['id', vmid],
    ['node', node],
    ['role', role],
    ['status', status],
    ['address', ip],
    ...nics.map(({ slot, mac, ip: address }) => [slot, `${address ?? 'unknown'} (${mac ?? 'MAC unknown'})`]),
  ];
  return lines.map(([key, value]) => `${key}: ${value ?? 'unknown'}\n`).join('');
}
