/**
 * The one VM the suite makes: where, under which id, and how it is recognised again. It has a marker in its description
 * that no other client uses; without that marker nothing is destroyed, whatever its id.
 */
import { randomBytes } from 'node:crypto';
import { hasCode } from '../../src/base/errors.ts';
import { isNotFound, type Pve, type VmHandle } from '../../src/pve/index.ts';

/** Far above what people and tools pick, and below the largest id there is. */
const HIGHEST_VMID = 990_000_000;
const ATTEMPTS = 50;

export interface OwnVm {
  readonly vm: VmHandle;
  readonly vmid: number;
  readonly node: string;
  readonly marker: string;
}

/** A free id on a node that is online; nothing is created yet. */
export async function chooseOwnVm(pve: Pve): Promise<OwnVm> {
  const node = (await pve.nodes()).find(({ status }) => status === 'online')?.node;
  if (node === undefined) throw new Error('no node is online');
  const vmid = await freeVmid(pve);
  const marker = `proxwright acceptance ${randomBytes(8).toString('hex')}`;
  return { vm: pve.node(node).vm(vmid), vmid, node, marker };
}

/** The privileges of those asked for that the token lacks on a path. */
export async function missingOn(pve: Pve, path: string, privileges: readonly string[]): Promise<string[]> {
  const granted = (await pve.access.permissions({ path }))[path] ?? {};
  return privileges.filter((privilege) => !(privilege in granted));
}

/** Whatever the suite got to: afterwards the VM is gone with its disks. Anything that is not ours stays. */
export async function removeOwnVm(pve: Pve, { vm, vmid, marker }: OwnVm): Promise<string> {
  try {
    const config = await vm.config.get();
    if (!config.values.get('description')?.includes(marker)) return `VM ${vmid} is not ours and was left alone`;
  } catch (error) {
    if (isNotFound(error, 'guest')) return `VM ${vmid} is gone`;
    throw error;
  }
  if ((await vm.status.current()).status === 'running') await pve.tasks.wait(await vm.status.stop());
  await pve.tasks.wait(await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true }));
  return `VM ${vmid} was removed`;
}

async function freeVmid(pve: Pve): Promise<number> {
  for (let vmid = HIGHEST_VMID; vmid > HIGHEST_VMID - ATTEMPTS; vmid--) {
    try {
      await pve.cluster.assertFree(vmid);
      return vmid;
    } catch (error) {
      if (!hasCode(error, 'VMID_TAKEN')) throw error;
    }
  }
  throw new Error(`none of the ${ATTEMPTS} ids below ${HIGHEST_VMID} is free`);
}
