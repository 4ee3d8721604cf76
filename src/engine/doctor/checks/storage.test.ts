import { describe, expect, it } from 'vitest';
import type { Address } from '../../../base/address.ts';
import type { StorageRow } from '../../../kinds/observed.ts';
import { GIB, observedWith, patient, stackFrom, storageRow, vmOf, WEB } from '../testing/patient.ts';
import { checkStorages } from './storage.ts';

const TWO = WEB.replace('  web:', '  web:\n    count: 2')
  .replace('vmid: 401', 'vmids: 401-410')
  .replace(/ {4}nics.*\n/, '')
  .replace('name: web', 'name: web-$' + '{number}');
const grown = (size: string, text = WEB) => stackFrom(`${text}    disks: { scsi0: { size: ${size} } }\n`);
const rows = (part: Partial<StorageRow>) =>
  observedWith({ storages: new Map([['pve1', { ok: true, value: [storageRow(part)] }]]) });

describe('storage', () => {
  it('has room for the sum of the plan, not for each of its disks alone', () => {
    const observed = rows({ availableBytes: 50 * GIB });
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))).toMatchObject([{ verdict: 'good' }]);
    expect(checkStorages(patient({ observed, stack: grown('40GiB', TWO) }))).toMatchObject([
      { verdict: 'bad', words: 'tank has 50 GiB free; the plan takes 80 GiB.' },
    ]);
  });

  it('of a thin pool is an estimate', () => {
    const observed = rows({ availableBytes: GIB, type: 'lvmthin' });
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('estimate') },
    ]);
  });

  it('is asked for what a disk grows by where the VM is there', () => {
    const vm = vmOf(401, { scsi0: 'tank:vm-401-disk-0,size=30G' });
    const observed = { ...rows({}), vms: new Map([['vm.web' as Address, { kind: 'present', vm } as const]]) };
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))[0]?.words).toContain('takes 10 GiB');
    expect(checkStorages(patient({ observed, stack: grown('30GiB') }))[0]?.words).toContain('makes no disks');
  });

  it.each([
    [{ active: false }, 'not active', 'pvesm status'],
    [{ enabled: false }, 'disabled', 'pvesm set tank --disable 0'],
  ])('that is away (%j) is told with the command', (part, words, remedy) => {
    expect(checkStorages(patient({ observed: rows(part) }))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining(words), remedy: expect.stringContaining(remedy) },
    ]);
  });

  it('that says nothing of its room, is not shown, or may not be read is not taken as fine', () => {
    expect(checkStorages(patient({ observed: rows({ availableBytes: undefined }) }))[0]?.verdict).toBe('warning');
    expect(checkStorages(patient({ observed: rows({ storage: 'other' }) }))).toMatchObject([
      { verdict: 'unknown', words: expect.stringContaining('Datastore.AllocateSpace on /storage/tank') },
    ]);
    const observed = observedWith({ storages: new Map([['pve1', { ok: false, needs: 'Datastore.Audit' }]]) });
    expect(checkStorages(patient({ observed }))).toMatchObject([{ verdict: 'unknown' }]);
  });
});
