/** The output files of a stack, as data; writing them is the business of the front door. */
import { ansibleInventory } from './ansible.ts';
import { dnsmasqReservations } from './dhcp.ts';
import { talosScript } from './hand-over/talos.ts';
import { isControlPlane, type StackOutputs } from './outputs.ts';
import { outputsAsEnvironment, outputsAsJson } from './render.ts';
import type { VmView } from './vm-view.ts';

export interface OutputFile {
  /** Without a directory. */
  readonly name: string;
  readonly text: string;
  readonly isScript: boolean;
}

/** The outputs as a whole; for each VM that has an id its address alone, and a summary. */
export function outputFiles(outputs: StackOutputs): OutputFile[] {
  const { vms } = outputs;
  const hasTalos = vms.some((vm) => vm.isTalos && isControlPlane(vm));
  return [
    data('outputs.json', outputsAsJson(outputs)),
    data('outputs.env', outputsAsEnvironment(outputs)),
    data('inventory.yaml', ansibleInventory(outputs)),
    data('dnsmasq.conf', dnsmasqReservations(outputs)),
    ...(hasTalos ? [{ name: 'talos.sh', text: talosScript(outputs), isScript: true }] : []),
    ...vms.flatMap((vm) =>
      vm.vmid === null
        ? []
        : [
            // Empty while no address is known, so that a script finds the file and sees that there is none.
            data(`vm_${vm.vmid}_ip.txt`, vm.ip === null ? '' : `${vm.ip}\n`),
            data(`vm_${vm.vmid}_summary.txt`, summary(vm)),
          ],
    ),
  ];
}

const data = (name: string, text: string): OutputFile => ({ name, text, isScript: false });

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
