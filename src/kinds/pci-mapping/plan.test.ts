import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../base/address.ts';
import { formatDiagnostic } from '../../base/diagnostics.ts';
import type { Readable } from '../cluster.ts';
import type { Observed } from '../observed.ts';
import { vmFieldsSchema } from '../vm/fields/index.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import type { PciHardware } from './mapping.ts';
import type { PciMaking } from './observed.ts';
import { mappingsUsed, mappingToken, pciMappingsFor, pciMapSteps, unmappedDevices } from './plan.ts';
import { devicesUsedTwice } from './sharing.ts';

interface VmOptions {
  readonly node?: string;
  readonly power?: 'running' | 'stopped';
  readonly pci: Readonly<Record<string, object>>;
}

const vm = (number: number, { node = 'pve1', power = 'running', pci }: VmOptions): ResolvedVm => ({
  address: vmAddress('gpu', number),
  group: 'gpu',
  number,
  fields: vmFieldsSchema.parse({ name: `gpu-${number}`, node, power, pci }),
  after: [],
  formerly: [],
  positions: Object.fromEntries(
    Object.keys(pci).map((slot, index) => [`pci.${slot}`, { file: 'stack.yaml', line: number * 10 + index }]),
  ),
});
const vmWith = (device: string, node?: string) => vm(1, { ...(node && { node }), pci: { hostpci0: { device } } });

const GPU: PciHardware = {
  path: '0000:01:00.0',
  id: '10de:2204',
  subsystemId: '1458:403b',
  iommuGroup: 14,
  mdev: false,
  name: 'NVIDIA Corporation GA102',
};
const AUDIO: PciHardware = { ...GPU, path: '0000:01:00.1', id: '10de:1aef' };
const NETWORK: PciHardware = { ...GPU, id: '8086:1528', subsystemId: undefined };
const NAME = 'proxwright-0000-01-00-10de-2204';

interface PciScene {
  readonly mappings?: Readonly<Record<string, readonly string[]>>;
  readonly may?: readonly string[];
  readonly devices?: Readonly<Record<string, Readable<readonly PciHardware[]>>>;
  /** hostpci0 of the VM. */
  readonly now?: string;
}

function observedOf({ mappings, may, devices, now }: PciScene): Observed {
  const making: PciMaking | undefined = may && {
    privileges: new Set(may),
    devices: new Map(Object.entries(devices ?? {})),
  };
  const current = new Map(now === undefined ? [] : [['hostpci0', now]]);
  return {
    pciMappings: mappings
      ? { ok: true, value: new Map(Object.entries(mappings)) }
      : { ok: false, needs: 'Mapping.Use on /mapping/pci' },
    ...(making && { pciMaking: making }),
    vms: new Map([[vmAddress('gpu', 1), { kind: 'present', vm: { current, pending: new Map() } }]]),
  } as unknown as Observed; // no other field is used
}

const ALL = ['Mapping.Modify', 'Mapping.Use'];
const here = (...value: PciHardware[]): Readable<readonly PciHardware[]> => ({ ok: true, value });

describe('a PCI address in a stack', () => {
  const gpu = { gpu: ['id=10de:2204,node=pve1,path=0000:01:00', 'id=10de:2204,node=pve2,path=0000:0a:00'] };

  it.each(['host=0000:01:00', '0000:01:00,pcie=1', 'pcie=1,host=0000:01:00'])(
    'that the VM has already stays, as root wrote it: %s',
    (now) => {
      const observed = observedOf({ mappings: gpu, may: ALL, now });
      expect(pciMappingsFor(vmWith('0000:01:00'), observed)).toEqual(new Map());
      expect(pciMapSteps([vmWith('0000:01:00')], observed)).toEqual([]);
    },
  );

  it.each(['0000:01:00', '01:00'])('%s is used through its mapping on the node', (device) => {
    const observed = observedOf({ mappings: gpu });
    expect(pciMappingsFor(vmWith(device), observed)).toEqual(new Map([[device, 'gpu']]));
    expect(unmappedDevices(vmWith(device), observed)).toEqual([]);
    expect(pciMapSteps([vmWith(device)], observed)).toEqual([]);
  });

  it.each([
    ['of another node', '0a:00', gpu],
    ['of one function only', '01:00.0', gpu],
    ['that may provide another device', '01:00', { pool: ['id=10de:2204,node=pve1,path=0000:01:00;0000:02:00'] }],
  ])('does not mean a mapping %s', (_, device, mappings) => {
    expect(pciMappingsFor(vmWith(device), observedOf({ mappings }))).toEqual(new Map());
  });

  it('keeps the mapping that the VM has, even if another one now fits too', () => {
    const map = ['id=10de:2204,node=pve1,path=0000:01:00'];
    const mappings = { also: map, gpu: map };
    expect(pciMappingsFor(vmWith('01:00'), observedOf({ mappings })).get('01:00')).toBe('also');
    expect(pciMappingsFor(vmWith('01:00'), observedOf({ mappings, now: 'mapping=gpu,pcie=1' })).get('01:00')).toBe(
      'gpu',
    );
  });
});

describe('a device without a mapping', () => {
  it('gets one, with the ids that the node reports', () => {
    const observed = observedOf({ mappings: {}, may: ALL, devices: { pve1: here(AUDIO, GPU) } });
    expect(pciMappingsFor(vmWith('01:00'), observed)).toEqual(new Map([['01:00', NAME]]));
    expect(unmappedDevices(vmWith('01:00'), observed)).toEqual([]);
    const [made] = pciMapSteps([vmWith('01:00')], observed);
    expect(made).toMatchObject({
      id: `pci.${NAME}/map`,
      stage: 'prepare',
      action: 'pci.map',
      input: {
        mapping: NAME,
        map: ['id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00,subsystem-id=1458:403b'],
        mdev: false,
      },
    });
  });

  it('given as one function gets one for that function', () => {
    const observed = observedOf({ mappings: {}, may: ALL, devices: { pve1: here(GPU, AUDIO) } });
    const [made] = pciMapSteps([vmWith('0000:01:00.1')], observed);
    expect(made?.input).toMatchObject({
      mapping: 'proxwright-0000-01-00-1-10de-1aef',
      map: [expect.stringContaining('path=0000:01:00.1')],
    });
  });

  it('shares it with the same device of another node, and with no other device', () => {
    const vms = [
      vm(1, { pci: { hostpci0: { device: '01:00' } } }),
      vm(2, { node: 'pve2', pci: { hostpci0: { device: '0000:01:00' } } }),
      vm(3, { node: 'pve3', pci: { hostpci0: { device: '01:00' } } }),
    ];
    const devices = { pve1: here(GPU), pve2: here(GPU), pve3: here(NETWORK) };
    const seen = observedOf({ mappings: {}, may: ALL, devices });
    const made = pciMapSteps(vms, seen);
    const users = (name: string) => vms.filter((vm) => mappingsUsed(vm, seen).includes(mappingToken(name))).length;
    expect(made.map(({ input }) => [input.mapping, input.map.length, users(input.mapping)])).toEqual([
      [NAME, 2, 2],
      ['proxwright-0000-01-00-8086-1528', 1, 1],
    ]);
    expect(made[1]?.input.map).toEqual(['id=8086:1528,iommugroup=14,node=pve3,path=0000:01:00']);
  });

  const bothWays = [
    /Let Proxwright create one: .*PVEMappingAdmin on \/mapping\/pci/,
    /Or create it as root: pvesh create/,
  ];

  it.each([
    [
      'may not create any',
      { mappings: { x: [] }, may: ['Mapping.Use'] },
      'MISSING_REFERENCE',
      /needs Mapping\.Modify on/,
    ],
    ['could not use it', { mappings: {}, may: ['Mapping.Modify'] }, 'MISSING_REFERENCE', /needs Mapping\.Use on/],
    ['sees no mapping at all', { may: [] }, 'PRIVILEGE_MISSING', /the token sees none/],
    [
      'may not read the hardware',
      { mappings: {}, may: ALL, devices: { pve1: { ok: false as const, needs: 'Sys.Audit on /' } } },
      'MISSING_REFERENCE',
      /needs Sys\.Audit on \//,
    ],
  ])('is refused with both remedies if the token %s', (_, seen, code, words) => {
    const [problem] = unmappedDevices(vmWith('01:00'), observedOf(seen));
    expect(problem).toMatchObject({ code, where: { file: 'stack.yaml', line: 10 } });
    expect(problem?.detail).toMatch(words);
    for (const way of bothWays) expect(problem?.hint?.text).toMatch(way);
    expect(pciMapSteps([vmWith('01:00')], observedOf(seen))).toEqual([]);
  });

  it.each([
    [
      'does not exist',
      '02:00',
      here(GPU),
      /no PCI device 0000:02:00; it has 0000:01:00\.0 \(NVIDIA Corporation GA102\)/,
    ],
    ['has no IOMMU', '01:00', here({ ...GPU, iommuGroup: undefined }), /in no IOMMU group/],
  ])('is refused if it %s', (_, device, hardware, words) => {
    const observed = observedOf({ mappings: {}, may: ALL, devices: { pve1: hardware } });
    expect(unmappedDevices(vmWith(device), observed).map(({ detail }) => detail)).toEqual([
      expect.stringMatching(words),
    ]);
  });

  it('is refused if a mapping of that name means something else on the node', () => {
    const mappings = { [NAME]: ['id=10de:2204,node=pve1,path=0000:02:00'] };
    const observed = observedOf({ mappings, may: ALL, devices: { pve1: here(GPU) } });
    expect(unmappedDevices(vmWith('01:00'), observed)).toMatchObject([{ code: 'CONFIG_CHANGED' }]);
  });
});

describe('a device used twice', () => {
  const observed = observedOf({ mappings: { gpu: ['id=10de:2204,node=pve1,path=0000:01:00'] } });
  const first = vm(1, { pci: { hostpci0: { device: '0000:01:00' } } });
  const twice = (second: ResolvedVm, seen = observed) => devicesUsedTwice([first, second], [second], seen);

  it.each([
    ['the same', { device: '01:00' }],
    ['one of its functions', { device: '01:00.1' }],
    ['a mapping of it', { mapping: 'gpu' }],
  ])('by %s is refused, with both lines', (_, device) => {
    const [problem, ...more] = twice(vm(2, { pci: { hostpci0: device } }));
    expect(more).toEqual([]);
    const text = formatDiagnostic(problem ?? ({} as never));
    expect(text).toContain('stack.yaml:20');
    expect(text).toContain('vm.gpu[1] (stack.yaml:10)');
  });

  it('by one VM is refused too', () => {
    const greedy = vm(2, { pci: { hostpci0: { device: '01:00' }, hostpci1: { device: '01:00.1' } } });
    expect(devicesUsedTwice([greedy], [greedy], observed)).toMatchObject([
      { where: { line: 21 }, detail: expect.stringContaining('twice to vm.gpu[2]') },
    ]);
  });

  it.each([
    ['on another node', vm(2, { node: 'pve2', pci: { hostpci0: { device: '01:00' } } })],
    ['while one of the VMs stays off', vm(2, { power: 'stopped', pci: { hostpci0: { device: '01:00' } } })],
    ['as mediated devices', vm(2, { pci: { hostpci0: { device: '01:00', mdev: 'nvidia-63' } } })],
    ['by its neighbour', vm(2, { pci: { hostpci0: { device: '01:01' } } })],
  ])('%s is fine', (_, second) => {
    expect(twice(second)).toEqual([]);
  });

  it('from a mapping of several devices is fine', () => {
    const pool = observedOf({
      mappings: { gpu: ['id=a:b,node=pve1,path=0000:01:00', 'id=a:b,node=pve1,path=0000:02:00'] },
    });
    expect(twice(vm(2, { pci: { hostpci0: { mapping: 'gpu' } } }), pool)).toEqual([]);
  });

  it('is reported only for the selected VMs', () => {
    const second = vm(2, { pci: { hostpci0: { device: '01:00' } } });
    const other = vm(3, { pci: { hostpci0: { device: '05:00' } } });
    expect(devicesUsedTwice([first, second, other], [other], observed)).toEqual([]);
  });
});
