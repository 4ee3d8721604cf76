/**
 * A disk that outlives its VM: the VM is replaced and has the same volume again, and only the name of the VM destroys it. The
 * file says neither size nor storage of the disk by then, so a new VM can have it in no other way.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { propertyOf } from '../../src/kinds/vm/config/parts.ts';
import { parseSize } from '../../src/pve/index.ts';
import { Account } from './account.ts';
import { leftovers, removeLeftovers } from './engine/leftovers.ts';
import { apply, destroy, plan, type Runs } from './engine/runs.ts';
import { findTarget, isFree, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';

const GIB = 1024 ** 3;
const account = new Account();
const name = `acceptance-${randomBytes(4).toString('hex')}`;
const stateDirectory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
let server: AcceptanceServer;
let target: Target;
let runs: Runs;

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
  runs = { pve: server.pve, clock: server.clock, stateDirectory };
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
  } finally {
    rmSync(stateDirectory, { recursive: true, force: true });
    account.print();
    await server?.close();
  }
});

/** Another slot than that of the template's disk. */
const slot = () => (target.disk.slot === 'scsi9' ? 'scsi10' : 'scsi9');

function text(disk: object): string {
  const { ids, node, template, mode, storage, power, extra } = target;
  const clone = { template, mode, ...(storage !== undefined && { storage }) };
  const vm = {
    name,
    node,
    guest: 'plain',
    power,
    vmids: `${ids.first}-${ids.first + 1}`,
    clone,
    disks: { [slot()]: disk },
    description: `Made by the acceptance suite ${name}; it may be removed.`,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return JSON.stringify({ version: 1, stack: name, vms: { db: vm } });
}

const wanted = () => text({ storage: target.disk.storage, size: '1GiB', keep: true });
const kept = () => text({ keep: true });
const step = stepsOf(account);

/** What the server says of the VM and of its disk. */
async function seen(): Promise<{ readonly smbios: string; readonly sizeBytes: number | undefined }> {
  const { values } = await server.pve.node(target.node).vm(target.ids.first).config.get();
  const drive = propertyOf(slot(), values.get(slot()));
  return { smbios: values.get('smbios1') ?? '', sizeBytes: parseSize(drive.get('size') ?? '') };
}

describe('a kept disk', () => {
  step('is made with its VM, which cannot be destroyed then', async () => {
    await apply(runs, wanted());
    expect(await seen()).toMatchObject({ sizeBytes: GIB });
    await expect(destroy(runs, wanted())).rejects.toThrow('keep is true');
    return `a VM with a kept disk in ${slot()}; destroying it is refused`;
  });

  step('is carried through a replacement of its VM', async () => {
    const before = await seen();
    const { changes } = await apply(runs, kept(), { replace: ['vm.db'] });
    expect(changes).toMatchObject([{ kind: 'replace', notes: [`kept: ${slot()} (1GiB) is carried to the new VM`] }]);
    const after = await seen();
    expect(after.smbios).not.toBe(before.smbios);
    expect(after.sizeBytes).toBe(GIB);
    expect(await isFree(server.pve, target.ids.first + 1)).toBe(true);
    const again = await plan(runs, kept());
    expect(again.ok && again.plan.steps).toEqual([]);
    return 'the new VM has the volume in the same slot, nothing is left of its holder, and the plan is empty';
  });

  step('goes with the name of its VM', async () => {
    await destroy(runs, kept(), { destroyData: [name] });
    expect(await leftovers(server.pve, target)).toEqual([]);
    return 'destroyed by name: ids are free, no volume is left';
  });
});
