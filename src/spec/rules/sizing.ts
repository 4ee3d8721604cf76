/** Rules for numbers that limit each other. */
import { printByteSize } from '../../base/units.ts';
import type { VmRule } from './rule.ts';

/** Proxmox: "balloon value too large (must be smaller than assigned memory)". */
export const balloonFitsMemory: VmRule = {
  reads: ['memory', 'balloon'],
  *check(vm) {
    const { memory, balloon } = vm.fields;
    if (typeof balloon !== 'number' || memory === undefined || balloon <= memory) return;
    yield {
      vm,
      path: 'balloon',
      detail: `"balloon" is the minimum memory of the guest; ${printByteSize(balloon)} is more than "memory", ${printByteSize(memory)}.`,
    };
  },
};

export const vcpusFitCores: VmRule = {
  reads: ['cpu', 'clone.template'],
  *check(vm) {
    const { cpu, clone } = vm.fields;
    // A clone keeps the template's value for what it does not set.
    const [cores, sockets] = [cpu?.cores ?? (clone ? undefined : 1), cpu?.sockets ?? (clone ? undefined : 1)];
    if (cpu?.vcpus === undefined || cores === undefined || sockets === undefined || cpu.vcpus <= cores * sockets)
      return;
    yield {
      vm,
      path: 'cpu.vcpus',
      detail: `${cpu.vcpus} virtual CPUs do not fit into ${sockets} socket(s) of ${cores} core(s).`,
    };
  },
};
