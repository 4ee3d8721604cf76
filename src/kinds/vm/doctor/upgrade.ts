/** What an upgrade of Proxmox VE breaks in VMs and templates. Pure. */
import { nodeCommand } from '../../../base/text/node-command.ts';
import { BEHAVIOURS, lostBetween } from '../../../pve/compatibility.ts';
import type { UpgradeContext } from '../../doctor/examined.ts';
import { type Finding, findingsOf } from '../../doctor/finding.ts';
import { whereOf } from '../../fields/positions.ts';
import { drivesOf } from '../config/disks.ts';

const say = findingsOf('upgrade');

export function checkUpgradeOfVms(context: UpgradeContext): Finding[] {
  return [...checkHaGroups(context), ...checkGeometry(context)];
}

/** Proxmox VE 9 replaced HA groups by rules. */
function checkHaGroups({ from, to, stack }: UpgradeContext): Finding[] {
  if (Number.parseInt(from.version, 10) >= 9 || Number.parseInt(to.version, 10) < 9) return [];
  return stack.vms.flatMap((vm): Finding[] => {
    const { ha } = vm.fields;
    if (!ha || ha.group === undefined) return [];
    return [
      say.bad(`${vm.address} is in the HA group ${ha.group}; ${to.version} uses rules instead and rejects the field.`, {
        remedy: 'Remove ha.group after the upgrade. Proxmox converts groups to node affinity rules.',
        where: whereOf(vm, 'ha.group'),
      }),
    ];
  });
}

/** Drives with cyls, heads, secs or trans in templates and VMs of the stack. */
function checkGeometry({ from, to, observed }: UpgradeContext): Finding[] {
  if (!lostBetween(BEHAVIOURS, from, to).includes('geometry of drives')) return [];
  const templates = [...observed.templates.values()].flat().flatMap(({ vm }) => (vm.ok ? [vm.value] : []));
  const own = [...observed.vms.values()].flatMap((found) => (found.kind === 'present' ? [found.vm] : []));
  const seen = new Map([...templates, ...own].map((vm) => [vm.vmid, vm]));
  return [...seen.values()].flatMap(({ vmid, node, current }) =>
    drivesOf(current).flatMap(({ key }): Finding[] => {
      const options = ['cyls', 'heads', 'secs', 'trans'].filter((name) =>
        new RegExp(`,${name}=`).test(current.get(key) ?? ''),
      );
      if (options.length === 0) return [];
      return [
        say.bad(`${key} of VM ${vmid} has ${options.join(', ')}, which ${to.version} does not support.`, {
          remedy: `Remove the options on ${node}: ${nodeCommand('qm set', [vmid], { [key]: withoutOptions(current.get(key) ?? '', options) })}`,
        }),
      ];
    }),
  );
}

function withoutOptions(text: string, names: readonly string[]): string {
  return text
    .split(',')
    .filter((part) => !names.includes(part.split('=')[0] ?? ''))
    .join(',');
}
