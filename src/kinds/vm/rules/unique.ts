/** Values that must be unique: names, IDs, MAC addresses and IP addresses. */
import { parseInterface, parseIp, printIp } from '../../../base/values/ip-address.ts';
import type { ResolvedVm } from '../stack.ts';
import { isTemplate, type StackRule, type Violation } from './rule.ts';

interface Claim {
  readonly vm: ResolvedVm;
  readonly path: string;
  /** Equal keys collide. */
  readonly key: string;
}

/** Proxmox allows two VMs with the same name; outputs, overrides and host names do not. A template has the same name on all its nodes. */
export const uniqueNames: StackRule = {
  reads: ['name'],
  withTemplates: true,
  check: (vms) =>
    collisions(
      vms
        .filter((vm) => !isTemplate(vm) || vm.number === 1)
        .map((vm) => ({ vm, path: 'name', key: vm.fields.name.toLowerCase() })),
      (key) => `The name "${key}"`,
      `Give each VM a different one, in a group for example with \${number}.`,
    ),
};

export const uniqueIds: StackRule = {
  reads: ['vmid'],
  withTemplates: true,
  check: (vms) =>
    collisions(
      vms.flatMap((vm) => (vm.fields.vmid === undefined ? [] : [{ vm, path: 'vmid', key: String(vm.fields.vmid) }])),
      (key) => `The ID ${key}`,
      'Give each VM a different one, or give the group a range: vmids: 101-109.',
    ),
};

/** A VM cannot have the ID of its template. For templates of the stack, the rule on unique IDs covers this. */
export const idIsNotTheTemplate: StackRule = {
  reads: ['vmid', 'clone.template'],
  withTemplates: true,
  *check(all) {
    const own = new Set(all.filter(isTemplate).map(({ fields }) => fields.vmid));
    const vms = all.filter((vm) => !isTemplate(vm));
    const templates = new Set(vms.map(({ fields }) => fields.clone?.template));
    for (const vm of vms) {
      const { vmid } = vm.fields;
      if (vmid === undefined || own.has(vmid) || !templates.has(vmid)) continue;
      yield { vm, path: 'vmid', detail: `The ID ${vm.fields.vmid} belongs to the template that is cloned.` };
    }
  },
};

export const uniqueMacs: StackRule = {
  reads: ['nics.*.mac'],
  check: (vms) =>
    collisions(
      vms.flatMap((vm) =>
        Object.entries(vm.fields.nics ?? {}).flatMap(([slot, { mac }]) =>
          mac === undefined ? [] : [{ vm, path: `nics.${slot}.mac`, key: mac.toUpperCase() }],
        ),
      ),
      (key) => `The MAC address ${key}`,
      'Give each card a different one, or leave it out: Proxmox then generates one that stays the same.',
    ),
};

export const uniqueAddresses: StackRule = {
  reads: ['nics.*.ipv4', 'nics.*.ipv6'],
  check: (vms) =>
    collisions(
      vms.flatMap(addressClaims),
      (key) => `The address ${key}`,
      'Give each card a different one, or give the group a range.',
    ),
};

/** The virtual IP of a control plane moves between VMs, so no VM can own it. */
export const sharedAddressIsFree: StackRule = {
  reads: ['nics.*.ipv4', 'nics.*.ipv6'],
  *check(vms, { talos }) {
    const vip = parseIp(talos?.vip ?? '');
    if (!vip) return;
    for (const { vm, path, key } of vms.flatMap(addressClaims)) {
      if (key !== printIp(vip)) continue;
      yield { vm, path, detail: `The address ${key} is the virtual IP of outputs.talos.vip, so no VM can have it.` };
    }
  },
};

function addressClaims(vm: ResolvedVm): Claim[] {
  return Object.entries(vm.fields.nics ?? {}).flatMap(([slot, nic]) =>
    (['ipv4', 'ipv6'] as const).flatMap((family) => {
      const settings = nic[family];
      const parsed = typeof settings === 'object' ? parseInterface(settings.address) : undefined;
      return parsed ? [{ vm, path: `nics.${slot}.${family}.address`, key: printIp(parsed.address) }] : [];
    }),
  );
}

function* collisions(claims: readonly Claim[], name: (key: string) => string, hint: string): Iterable<Violation> {
  const first = new Map<string, Claim>();
  const told = new Set<string>();
  for (const claim of claims) {
    const { vm, path, key } = claim;
    const earlier = first.get(key);
    if (!earlier) {
      first.set(key, claim);
      continue;
    }
    // Members of a group share a line; one problem per line is enough.
    const line = JSON.stringify([key, vm.positions[path]]);
    if (told.has(line)) continue;
    told.add(line);
    const owner = earlier.vm === vm ? `twice in ${vm.address}` : `to both ${earlier.vm.address} and ${vm.address}`;
    yield { vm, path, detail: `${name(key)} is given ${owner}.`, hint };
  }
}
