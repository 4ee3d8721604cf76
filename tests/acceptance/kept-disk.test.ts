/**
 * A disk that outlives its VM: the VM is replaced and has the same volume again, and only the name of the VM destroys it. The
 * file then says neither size nor storage of the disk, so the new VM can only have got it by a carry.
 */
import { describe, expect } from 'vitest';
import { propertyOf } from '../../src/kinds/vm/config/parts.ts';
import { parseSize } from '../../src/pve/index.ts';
import { Account } from './account.ts';
import { openEstate, stackOf, vmOf } from './engine/estate.ts';
import { leftovers } from './engine/leftovers.ts';
import { apply, destroy, plan } from './engine/runs.ts';
import { isFree } from './engine/target.ts';
import { stepsOf } from './steps.ts';

const GIB = 1024 ** 3;
const account = new Account();
const estate = openEstate(account);
const { name } = estate;

/** Another slot than that of the template's disk. */
const slot = () => (estate.target.disk.slot === 'scsi9' ? 'scsi10' : 'scsi9');

function text(disk: object): string {
  const { first } = estate.target.ids;
  const vmids = `${first}-${first + 1}`;
  return stackOf(estate, { db: vmOf(estate, { name, vmids, disks: { [slot()]: disk } }) });
}

const desired = () => text({ storage: estate.target.disk.storage, size: '1GiB', keep: true });
const kept = () => text({ keep: true });
const step = stepsOf(account);

/** What the server says of the VM and of its disk. */
async function seen(): Promise<{ readonly smbios: string; readonly sizeBytes: number | undefined }> {
  const { values } = await estate.server.pve.node(estate.target.node).vm(estate.target.ids.first).config.get();
  const drive = propertyOf(slot(), values.get(slot()));
  return { smbios: values.get('smbios1') ?? '', sizeBytes: parseSize(drive.get('size') ?? '') };
}

describe('a kept disk', () => {
  step('is made with its VM, which cannot be destroyed then', async () => {
    await apply(estate.runs, desired());
    expect(await seen()).toMatchObject({ sizeBytes: GIB });
    await expect(destroy(estate.runs, desired())).rejects.toThrow('keep is true');
    return `a VM with a kept disk in ${slot()}; destroying it is refused`;
  });

  step('is carried through a replacement of its VM', async () => {
    const before = await seen();
    const { changes } = await apply(estate.runs, kept(), { replace: ['vm.db'] });
    expect(changes).toMatchObject([{ kind: 'replace', notes: [`kept: ${slot()} (1GiB) is carried to the new VM`] }]);
    const after = await seen();
    expect(after.smbios).not.toBe(before.smbios);
    expect(after.sizeBytes).toBe(GIB);
    expect(await isFree(estate.server.pve, estate.target.ids.first + 1)).toBe(true);
    const again = await plan(estate.runs, kept());
    expect(again.ok && again.plan.steps).toEqual([]);
    return 'the new VM has the volume in the same slot, nothing is left of its holder, and the plan is empty';
  });

  step('goes with the name of its VM', async () => {
    await destroy(estate.runs, kept(), { destroyData: [name] });
    expect(await leftovers(estate.server.pve, estate.target)).toEqual([]);
    return 'destroyed by name: ids are free, no volume is left';
  });
});
