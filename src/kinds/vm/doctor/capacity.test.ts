import { describe, expect, it } from 'vitest';
import type { NodeRoom, Plan } from '../../change.ts';
import type { Readable } from '../../cluster.ts';
import { checkDevices } from '../../pci-mapping/doctor.ts';
import type { PciHardware } from '../../pci-mapping/mapping.ts';
import { checkCapacity } from './capacity.ts';
import {
  GIB,
  neighboursOf,
  nodeStatus,
  observedWith,
  patient,
  runningVm,
  stackFrom,
  vmOf,
  WEB,
} from './testing/patient.ts';

const running = (memoryGib: number, cpus: number) => runningVm(700, memoryGib * GIB, cpus);
const on = (status: ReturnType<typeof nodeStatus>, ...vms: ReturnType<typeof running>[]) =>
  patient({ nodes: new Map([['pve1', { status, vms }]]) });

/** `room`: as the plan has it. */
function judged(looked: Omit<Parameters<typeof checkCapacity>[0], 'result'>, room: readonly NodeRoom[] = []) {
  const plan = { room } as unknown as Plan; // nothing else of it matters here
  return checkCapacity({ ...looked, result: { ok: true, plan } });
}

describe('the capacity check', () => {
  it('accepts a node with enough memory and cores for running and planned VMs', () => {
    expect(judged(on(nodeStatus(16 * GIB, 8), running(4, 2)))).toMatchObject([
      { verdict: 'good', words: 'pve1: 4 GiB running + 2 GiB planned of 16 GiB memory; 2 + 2 of 8 cores.' },
    ]);
  });

  it('says what is free now and after an apply, as the plan does', () => {
    const memory = { totalBytes: 16 * GIB, freeBytes: 12 * GIB, freeAfterBytes: 10 * GIB };
    const tank = { storage: 'tank', freeBytes: 200 * GIB, freeAfterBytes: 168 * GIB };
    const room = [
      { node: 'pve1', memory, storages: [tank] },
      { node: 'pve2', memory },
    ];
    expect(judged(on(nodeStatus(16 * GIB, 8)), room)).toMatchObject([
      { details: ['Free now, and after an apply: memory 12GiB → 10GiB of 16GiB; tank 200GiB → 168GiB.'] },
    ]);
    expect(judged(on(nodeStatus(16 * GIB, 8)), [])[0]?.details).toBeUndefined();
  });

  it('warns about overcommitted memory and cores', () => {
    expect(judged(on(nodeStatus(5 * GIB, 8), running(4, 2)))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('Memory is overcommitted') },
    ]);
    expect(judged(on(nodeStatus(16 * GIB, 3), running(4, 2)))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('Cores are overcommitted') },
    ]);
  });

  it('uses the values of the template if the file sets none', () => {
    const stack = stackFrom(WEB.replace('    memory: 2GiB\n', ''));
    expect(judged({ ...patient(), stack })[0]?.words).toContain('1 GiB planned');
  });

  it('ignores VMs that stay stopped', () => {
    const stack = stackFrom(`${WEB}    power: stopped\n`);
    expect(judged({ ...patient(), stack })[0]?.words).toContain('0 B planned');
  });

  it('reports a node that cannot be read as not checked', () => {
    const nodes = new Map([['pve1', { status: { ok: false, needs: 'Sys.Audit on /nodes/pve1' }, vms: [] } as const]]);
    expect(judged(patient({ nodes }))).toMatchObject([
      { verdict: 'unknown', words: 'Memory and cores of pve1: not checked, the token needs Sys.Audit on /nodes/pve1.' },
    ]);
  });
});

const card = (path: string, iommuGroup: number | undefined): PciHardware => ({
  path,
  id: '10de:2204',
  subsystemId: undefined,
  iommuGroup,
  mdev: false,
  name: 'GPU',
});
const map = (...paths: string[]) => paths.map((path) => `node=pve1,path=${path},id=10de:2204`);

function seen(
  devices: Readable<readonly PciHardware[]>,
  mapped = ['0000:01:00'],
  others: ReturnType<typeof vmOf>[] = [],
) {
  return patient({
    stack: stackFrom(`${WEB}    machine: q35\n    pci: { hostpci0: { mapping: gpu } }\n`),
    observed: observedWith({
      pciMappings: { ok: true, value: new Map([['gpu', map(...mapped)]]) },
      neighbours: neighboursOf(others),
    }),
    devices: new Map([['pve1', devices]]),
  });
}
const there = (...value: PciHardware[]) => ({ ok: true, value }) as const;

describe('the device check', () => {
  it('reports nothing if no device is passed through', () => {
    expect(checkDevices(patient())).toEqual([]);
  });

  it('accepts a device that is alone in its IOMMU group', () => {
    const own = [card('0000:01:00.0', 7), card('0000:01:00.1', 7), card('0000:02:00.0', 8)];
    expect(checkDevices(seen(there(...own)))).toMatchObject([{ verdict: 'good' }]);
  });

  it('warns about a device that shares its IOMMU group', () => {
    expect(checkDevices(seen(there(card('0000:01:00.0', 7), card('0000:02:00.0', 7))))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('0000:02:00.0 (GPU)') },
    ]);
  });

  it('rejects a device that is absent or in no IOMMU group', () => {
    expect(checkDevices(seen(there()))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining('no PCI device') },
    ]);
    expect(checkDevices(seen(there(card('0000:01:00.0', undefined))))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining('no IOMMU group') },
    ]);
  });

  it('warns about a device that another VM uses', () => {
    const byAddress = vmOf(700, { hostpci0: '01:00.0' });
    const byMapping = vmOf(701, { hostpci3: 'mapping=gpu,pcie=1' });
    const hardware = there(card('0000:01:00.0', 7));
    expect(checkDevices(seen(hardware, ['0000:01:00'], [byAddress, byMapping]))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('VM 700') },
      { verdict: 'warning', words: expect.stringContaining('VM 701') },
    ]);
    const two = there(card('0000:01:00.0', 7), card('0000:02:00.0', 8));
    expect(checkDevices(seen(two, ['0000:01:00', '0000:02:00'], [byMapping]))).toMatchObject([{ verdict: 'good' }]);
  });

  it('reports devices and mappings that cannot be read as not checked', () => {
    const hidden = seen({ ok: false, needs: 'Sys.Audit on /' });
    expect(checkDevices(hidden)).toMatchObject([{ verdict: 'good' }, { verdict: 'unknown' }]);
    const observed = observedWith({ pciMappings: { ok: false, needs: 'Mapping.Use on /mapping/pci' } });
    expect(checkDevices({ ...hidden, observed })).toMatchObject([
      { verdict: 'good' },
      { verdict: 'unknown', words: expect.stringContaining('Mapping.Use') },
      { verdict: 'unknown' },
    ]);
  });
});
