/** Rules for the virtual board and the layout of memory: what Proxmox would refuse, or would find out when the VM starts. */
import { advice, setting } from '../../../base/hint.ts';
import { printByteSize } from '../../../base/values/units.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { mergedText } from '../diff/merge.ts';
import type { DiskFields } from '../fields/disks.ts';
import { ownDocuments } from '../seed/fields.ts';
import type { ResolvedVm } from '../stack.ts';
import type { Violation, VmRule } from './rule.ts';

type Limits = NonNullable<DiskFields['limits']>;

/** Proxmox: "unable to parse drive options". QEMU: a burst cannot be lower than its limit. */
export const diskLimitsFit: VmRule = {
  reads: ['disks.*.limits'],
  *check(vm) {
    for (const [slot, { limits }] of Object.entries(vm.fields.disks ?? {})) {
      for (const unit of ['mbps', 'iops'] as const) {
        if (limits) yield* limitProblems(vm, `disks.${slot}.limits`, limits, unit);
      }
    }
  },
};

function* limitProblems(vm: ResolvedVm, path: string, limits: Limits, unit: 'mbps' | 'iops'): Iterable<Violation> {
  const both = [`read_${unit}`, `write_${unit}`] as const;
  const rival = both.find((name) => limits[name] !== undefined);
  if (limits[unit] !== undefined && rival !== undefined) {
    yield {
      vm,
      path: `${path}.${unit}`,
      detail: `"${unit}" limits reads and writes together, so it cannot be used with "${rival}".`,
      hint: 'Keep one of the two.',
    };
  }
  for (const name of [unit, ...both] as const) {
    const [limit, burst, length] = [limits[name], limits[`${name}_burst`], limits[`${name}_burst_length`]];
    if (burst !== undefined && (limit === undefined || burst < limit)) {
      yield {
        vm,
        path: `${path}.${name}_burst`,
        detail:
          limit === undefined
            ? `A burst goes beyond a limit, and "${name}" is not set.`
            : `A burst cannot be lower than its limit: "${name}" is ${limit}.`,
        hint: limit === undefined ? `Set "${name}" as well.` : `Write ${limit} or more.`,
      };
    }
    if (length !== undefined && burst === undefined) {
      yield {
        vm,
        path: `${path}.${name}_burst_length`,
        detail: `"${name}_burst" is not set.`,
        hint: 'Set it as well.',
      };
    }
  }
}

/** Proxmox checks these when it writes the machine type. */
export const machineOptionsFit: VmRule = {
  reads: ['machine', 'machine_options', 'clone.template'],
  *check(vm) {
    const { machine, machine_options: options, clone } = vm.fields;
    const path = 'machine_options';
    const isKnownOther = machine === undefined ? !clone : !/q35/.test(machine);
    if (options?.viommu === 'intel' && isKnownOther) {
      yield {
        vm,
        path: `${path}.viommu`,
        detail: `The IOMMU of Intel needs the machine type q35; this VM has ${machine ?? 'pc, the server’s default'}.`,
        hint: advice`Write ${setting('machine', 'q35')}, or ${setting('viommu', 'virtio')}.`,
      };
    }
    if (options?.address_bits === undefined) return;
    if (options.viommu === false || (options.viommu === undefined && !clone)) {
      yield {
        vm,
        path: `${path}.address_bits`,
        detail: 'Only a virtual IOMMU has an address width, and this VM has none.',
        hint: advice`Write ${setting('viommu', 'intel')}, or remove "address_bits".`,
      };
    } else if (options.viommu === 'intel' && ![39, 48].includes(options.address_bits)) {
      yield {
        vm,
        path: `${path}.address_bits`,
        detail: `The IOMMU of Intel has 39 or 48 address bits, not ${options.address_bits}.`,
      };
    }
  },
};

/** Proxmox: "vga type … is not compatible with VNC clipboard". */
export const clipboardNeedsScreen: VmRule = {
  reads: ['vga'],
  *check(vm) {
    const { clipboard, type } = vm.fields.vga ?? {};
    if (clipboard !== 'vnc' || type === undefined || !/^(none|serial\d)$/.test(type)) return;
    yield {
      vm,
      path: 'vga.clipboard',
      detail: `A VNC clipboard needs a graphics card; "vga.type" is ${type}.`,
      hint: advice`Write ${setting('type', 'std')}, or remove "clipboard".`,
    };
  },
};

export const rngLimitNeedsSource: VmRule = {
  reads: ['rng', 'rng_limit', 'clone.template'],
  *check(vm) {
    const { rng, rng_limit: limit, clone } = vm.fields;
    if (!limit || rng !== undefined || clone || Object.keys(limit).length === 0) return;
    yield {
      vm,
      path: 'rng_limit',
      detail: 'This VM has no random number generator to limit: "rng" is not set.',
      hint: advice`Write ${setting('rng', '/dev/urandom')}.`,
    };
  },
};

/** `maxLength` of the key, whose texts are in base64. */
const MOST_SMBIOS_CHARACTERS = 512;
const UUID_CHARACTERS = ',uuid=00000000-0000-0000-0000-000000000000'.length;

export const smbiosFits: VmRule = {
  reads: ['smbios'],
  *check(vm) {
    const { smbios } = vm.fields;
    if (!smbios) return;
    const entry = desiredConfig({ ...vm.fields, extra: undefined }, {}).get('smbios1');
    if (entry?.desired.kind !== 'property') return;
    const length = (mergedText('smbios1', entry.desired, undefined) ?? '').length + UUID_CHARACTERS;
    if (length <= MOST_SMBIOS_CHARACTERS) return;
    yield {
      vm,
      path: 'smbios',
      detail: `Proxmox keeps these texts in ${MOST_SMBIOS_CHARACTERS} characters, with the uuid and in base64; they need ${length}.`,
      hint: 'Shorten them.',
    };
  },
};

/** Proxmox reports all of this only when the VM starts. */
export const numaNodesFit: VmRule = {
  reads: ['numa_nodes', 'cpu', 'memory', 'hotplug', 'clone.template'],
  *check(vm) {
    const { numa_nodes: nodes = {}, memory, hotplug } = vm.fields;
    if (Object.keys(nodes).length === 0) return;
    yield* needsNuma(vm, 'numa_nodes', 'NUMA nodes');
    for (const [slot, { host_nodes, policy }] of Object.entries(nodes)) {
      if (host_nodes === undefined || policy !== undefined) continue;
      yield {
        vm,
        path: `numa_nodes.${slot}.host_nodes`,
        detail: `"host_nodes" needs a policy.`,
        hint: advice`Write ${setting('policy', 'bind')}.`,
      };
    }
    if (hotplug?.includes('memory')) yield noMemoryHotplug(vm, 'numa_nodes', 'NUMA nodes of its own');
    const sum = Object.values(nodes).reduce((bytes, node) => bytes + node.memory, 0);
    if (memory === undefined || sum === memory) return;
    yield {
      vm,
      path: 'numa_nodes',
      detail: `The NUMA nodes have ${printByteSize(sum)} together, but "memory" is ${printByteSize(memory)}: Proxmox would not start the VM.`,
    };
  },
};

export const hugepagesNeedNuma: VmRule = {
  reads: ['hugepages', 'cpu', 'clone.template'],
  *check(vm) {
    if (vm.fields.hugepages?.size !== undefined) yield* needsNuma(vm, 'hugepages', 'huge pages');
  },
};

function* needsNuma(vm: ResolvedVm, path: string, what: string): Iterable<Violation> {
  const { cpu, clone } = vm.fields;
  // A clone may have it from its template.
  if (cpu?.numa ?? clone !== undefined) return;
  yield {
    vm,
    path,
    detail: `Proxmox uses ${what} only with "cpu.numa", which is ${cpu?.numa === false ? 'false' : 'not set'}.`,
    hint: advice`Write ${setting('cpu', { numa: true })}.`,
  };
}

function noMemoryHotplug(vm: ResolvedVm, path: string, what: string): Violation {
  return {
    vm,
    path,
    detail: `A VM with ${what} cannot have memory plugged in, and "hotplug" lists memory: Proxmox would not start it.`,
    hint: 'Remove memory from "hotplug".',
  };
}

export const sharedDirectoriesFit: VmRule = {
  reads: ['virtiofs', 'hotplug', 'os_type'],
  *check(vm) {
    const { virtiofs = {}, hotplug, os_type: guest } = vm.fields;
    const slots = Object.entries(virtiofs);
    if (slots.length > 0 && hotplug?.includes('memory')) yield noMemoryHotplug(vm, 'virtiofs', 'shared directories');
    for (const [slot, { expose_acl: showsLists }] of slots) {
      if (!showsLists || !guest?.startsWith('w')) continue;
      yield {
        vm,
        path: `virtiofs.${slot}.expose_acl`,
        detail:
          'Windows cannot mount a shared directory that shows access control lists: Proxmox would not start the VM.',
        hint: 'Remove "expose_acl".',
      };
    }
  },
};

export const encryptionIsPossible: VmRule = {
  reads: ['amd_sev', 'intel_tdx', 'bios', 'clone.template'],
  *check(vm) {
    const { amd_sev: sev, intel_tdx: tdx, bios, clone } = vm.fields;
    if (sev && tdx) {
      yield {
        vm,
        path: 'intel_tdx',
        detail: '"amd_sev" and "intel_tdx" cannot be used together.',
        hint: 'Keep one of the two.',
      };
    }
    if ((sev || tdx) && (bios === 'seabios' || (bios === undefined && !clone))) {
      yield {
        vm,
        path: sev ? 'amd_sev' : 'intel_tdx',
        detail: 'Encrypted memory needs the OVMF firmware; this VM has SeaBIOS.',
        hint: advice`Write ${setting('bios', 'ovmf')}.`,
      };
    }
    if (tdx && tdx.attestation !== false && (tdx.vsock_cid === undefined || tdx.vsock_port === undefined)) {
      yield {
        vm,
        path: 'intel_tdx',
        detail: 'Attestation needs the address of the quote generation service: "vsock_cid" and "vsock_port".',
        hint: advice`Set both, or write ${setting('attestation', false)}.`,
      };
    }
  },
};

/** Proxmox's own drive and the ISO image that Proxwright uploads exclude each other. */
export const snippetsAreUsed: VmRule = {
  reads: ['cloud_init'],
  *check(vm) {
    const { cloud_init: cloudInit } = vm.fields;
    const [own] = ownDocuments(cloudInit);
    if (own === undefined || !cloudInit?.snippets || Object.keys(cloudInit.snippets).length === 0) return;
    yield {
      vm,
      path: 'cloud_init.snippets',
      detail: `"${own}" replaces Proxmox’s cloud-init drive, and snippets are written to that drive.`,
      hint: 'Keep one of the two.',
    };
  },
};
