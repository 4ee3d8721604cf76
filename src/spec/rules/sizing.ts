/** Numbers that bound each other. */
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
      detail: `"balloon" is the least memory of the guest, and with ${printByteSize(balloon)} it exceeds "memory", ${printByteSize(memory)}.`,
    };
  },
};

export const vcpusFitCores: VmRule = {
  reads: ['cpu', 'clone.template'],
  *check(vm) {
    const { cpu, clone } = vm.fields;
    // What a clone does not mention is the template's.
    const [cores, sockets] = [cpu?.cores ?? (clone ? undefined : 1), cpu?.sockets ?? (clone ? undefined : 1)];
    if (cpu?.vcpus === undefined || cores === undefined || sockets === undefined || cpu.vcpus <= cores * sockets)
      return;
    yield {
      vm,
      path: 'cpu.vcpus',
      detail: `${cpu.vcpus} virtual CPUs cannot be plugged into ${sockets} socket(s) of ${cores} core(s).`,
    };
  },
};
