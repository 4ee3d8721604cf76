/** The VMs of a stack as an Ansible inventory: every VM a host, every role and every group of the stack a group. */
import { stringify } from 'yaml';
import type { StackOutputs } from './outputs.ts';
import type { VmView } from './vm-view.ts';

export function ansibleInventory({ stack, vms }: Pick<StackOutputs, 'stack' | 'vms'>): string {
  const hosts = new Set(vms.map(({ name }) => name));
  const groups = new Map<string, Set<string>>();
  for (const vm of vms) {
    for (const group of groupsOf(vm, hosts)) groups.set(group, (groups.get(group) ?? new Set()).add(vm.name));
  }
  const inventory = {
    all: {
      vars: { proxwright_stack: stack },
      hosts: Object.fromEntries(vms.map((vm) => [vm.name, hostVariables(vm)])),
      children: Object.fromEntries(
        [...groups].map(([group, names]) => [
          group,
          { hosts: Object.fromEntries([...names].map((name) => [name, {}])) },
        ]),
      ),
    },
  };
  return stringify(inventory);
}

/** A host without a known address has no `ansible_host`: Ansible then tries its name, which may well be in DNS. */
function hostVariables({ ip, user, vmid, node, role, status }: VmView) {
  return {
    ...(ip !== null && { ansible_host: ip }),
    ...(user !== null && { ansible_user: user }),
    proxmox_vmid: vmid,
    proxmox_node: node,
    proxwright_role: role,
    proxwright_status: status,
  };
}

/** Ansible's own groups cannot be ours, its names have no hyphens, and a group is not called like a host. */
function groupsOf({ role, group }: VmView, hosts: ReadonlySet<string>): Set<string> {
  const names = [role, group].filter((name) => name !== null).map((name) => name.replace(/[^A-Za-z0-9_]/g, '_'));
  return new Set(names.map((name) => (/^(\d|all$|ungrouped$)/.test(name) || hosts.has(name) ? `group_${name}` : name)));
}
