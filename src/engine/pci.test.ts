import { describe, expect, it } from 'vitest';
import { vmAddress } from '../base/address.ts';
import { vmFieldsSchema } from '../resources/vm/fields.ts';
import type { ResolvedVm } from '../spec/types.ts';
import type { Observed } from './observed.ts';
import { pciMappingsFor, unmappedDevices } from './pci.ts';

const vmWith = (device: string): ResolvedVm => ({
  address: vmAddress('gpu'),
  group: 'gpu',
  number: 1,
  fields: vmFieldsSchema.parse({ name: 'gpu', node: 'pve1', pci: { hostpci0: { device } } }),
  after: [],
  formerly: [],
  positions: { 'pci.hostpci0.device': { file: 'stack.yaml', line: 7 } },
});

const seeing = (mappings: Record<string, string[]> | undefined): Observed =>
  ({
    pciMappings: mappings
      ? { ok: true, value: new Map(Object.entries(mappings)) }
      : { ok: false, needs: 'Mapping.Use on /mapping/pci' },
  }) as unknown as Observed; // nothing else is looked at

describe('a PCI address in a stack', () => {
  const gpu = { gpu: ['id=10de:2204,node=pve1,path=0000:01:00', 'id=10de:2204,node=pve2,path=0000:0a:00'] };

  it.each(['0000:01:00', '01:00'])('%s is used through the mapping that stands for it on the node', (device) => {
    expect(pciMappingsFor(vmWith(device), seeing(gpu))).toEqual(new Map([[device, 'gpu']]));
    expect(unmappedDevices(vmWith(device), seeing(gpu))).toEqual([]);
  });

  it('of another node, or of one function only, is not meant', () => {
    for (const device of ['0a:00', '01:00.0']) {
      const [problem] = unmappedDevices(vmWith(device), seeing(gpu));
      expect(problem).toMatchObject({
        code: 'MISSING_REFERENCE',
        where: { line: 7 },
        hint: expect.stringContaining('pvesh create'),
      });
    }
  });

  it('is told apart from mappings that the token may not see', () => {
    const [problem] = unmappedDevices(vmWith('01:00'), seeing(undefined));
    expect(problem).toMatchObject({ code: 'PRIVILEGE_MISSING' });
  });
});
