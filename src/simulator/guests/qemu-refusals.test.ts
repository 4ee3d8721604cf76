import { describe, expect, it } from 'vitest';
import { emulationWarnings } from './emulation.ts';
import { qemuRefusal } from './qemu-refusals.ts';

const GIB = 1024 ** 3;
const refusal = (config: Record<string, string>) => qemuRefusal(new Map(Object.entries(config)), 4 * GIB, '10.0.13');
const warnings = (config: Record<string, string>) => emulationWarnings(new Map(Object.entries(config)));

describe('QEMU', () => {
  it('starts a supported configuration', () => {
    expect(refusal({ memory: '4096', cores: '2', vcpus: '2', machine: 'pc-q35-2.4', args: '-device foo' })).toBe(
      undefined,
    );
  });

  it.each<[string, Record<string, string>, string]>([
    ['machines it has dropped', { machine: 'type=pc-i440fx-2.3' }, 'kvm: unsupported machine type: "pc-i440fx-2.3"'],
    ['the CPU of the host without KVM', { kvm: '0', cpu: 'host' }, "kvm: CPU model 'host' requires KVM or HVF"],
    [
      'more memory than there is',
      { memory: '4097' },
      "kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory",
    ],
    ['options it does not have', { args: '-bogus 1' }, 'kvm: -bogus: invalid option'],
  ])('refuses %s', (_, config, line) => {
    expect(refusal(config)?.[0]).toBe(line);
  });

  it('refuses more virtual CPUs than the topology has places for', () => {
    expect(refusal({ cores: '2', vcpus: '3' })?.[0]).toContain('maxcpus (2) < smp_cpus (3)');
  });
});

describe('software emulation', () => {
  it('warns of every feature of a CPU model that it lacks, once per virtual CPU', () => {
    expect(warnings({ cpu: 'Haswell', cores: '2' })).toHaveLength(10);
    expect(warnings({ cpu: 'Haswell' })[0]).toBe(
      "kvm: warning: TCG doesn't support requested feature: CPUID.01H:ECX.pcid [bit 17]",
    );
  });

  it('counts added and removed flags', () => {
    expect(warnings({ cpu: 'kvm64,flags=+pcid;+aes' })).toHaveLength(1);
    expect(warnings({ cpu: 'Haswell,flags=-pcid' })).toHaveLength(4);
    expect(warnings({})).toEqual([]);
  });
});
