import { describe, expect, it } from 'vitest';
import { TestBench } from '../testing/bench.ts';
import { assertClipboard, assertMachineVersion, assertValidMachine, checkedMachine } from './machine.ts';

const { world } = new TestBench().runtime;
const checked = (machine: string | undefined, ostype: string | undefined, arch?: string) => {
  const lines: string[] = [];
  return { machine: checkedMachine(world, { machine, ostype, arch, log: (line) => lines.push(line) }), lines };
};

describe('the machine of a guest', () => {
  it('is pinned to the running version for Windows, with its other options kept', () => {
    expect(checked(undefined, 'win11').machine).toBe('pc-i440fx-10.0+pve1');
    expect(checked('viommu=intel,type=q35', 'win10')).toEqual({
      machine: 'pc-q35-10.0+pve1,viommu=intel',
      lines: ["pinning machine type to 'pc-q35-10.0+pve1' for Windows guest OS"],
    });
    expect(checked('pc-q35-8.1', 'win11')).toEqual({ machine: 'pc-q35-8.1', lines: [] });
  });

  it('is only normalised for other guests', () => {
    expect(checked(undefined, 'l26')).toEqual({ machine: undefined, lines: [] });
    expect(checked('aw-bits=39,viommu=virtio,type=q35', 'l26').machine).toBe('q35,aw-bits=39,viommu=virtio');
  });

  it.each([
    ['pc,viommu=intel', 'to use Intel vIOMMU please set the machine type to q35'],
    ['viommu=intel', 'to use Intel vIOMMU please set the machine type to q35'],
    ['q35,viommu=intel,aw-bits=40', 'Intel vIOMMU supports only 39 or 48 bits as address width'],
    ['q35,aw-bits=48', 'cannot set aw-bits if no vIOMMU is configured'],
  ])('%s is refused', (machine, problem) => {
    expect(() => assertValidMachine(machine)).toThrow(problem);
    expect(() => checked(machine, 'l26')).toThrow(problem);
  });

  it('offers the VNC clipboard with real graphics only', () => {
    expect(() => assertClipboard('serial0,clipboard=vnc')).toThrow(
      'vga type serial0 is not compatible with VNC clipboard',
    );
    for (const vga of [undefined, 'clipboard=vnc', 'qxl2,clipboard=vnc', 'none']) assertClipboard(vga);
  });
});

describe('the machine version at start', () => {
  const start = (machine: string) => () => assertMachineVersion(world, 'pve1', new Map([['machine', machine]]));

  it('must not be newer than QEMU, nor its revision newer than Proxmox knows', () => {
    for (const machine of ['q35', 'pc-i440fx-10.0', 'pc-i440fx-10.0+pve1', 'type=pc-q35-4.1+pve2']) {
      expect(start(machine)).not.toThrow();
    }
    expect(start('pc-q35-10.1')).toThrow(
      "Installed QEMU version '10.0.13' is too old to run machine type 'pc-q35-10.1+pve0', please upgrade node 'pve1'",
    );
    expect(start('pc-i440fx-9.0+pve1')).toThrow('(max feature level for 9.0 is pve0) is too old to run machine type');
  });
});
