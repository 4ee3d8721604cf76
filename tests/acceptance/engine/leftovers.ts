/**
 * What is left of the suite on the server, and its removal whatever became of the suite. Only VMs that carry our mark in
 * their notes are removed, and nothing outside the ids that were free when we came.
 */
import { isNotFound, type Pve } from '../../../src/pve/index.ts';
import { IDS_NEEDED, isFree, type Target } from './target.ts';

const CLONE_WAIT_MS = 15 * 60_000;
const PAUSE_MS = 1_000;

/** Ids of the suite: the lowest free ones of the range are taken, in order. */
export function ownIds({ ids }: Target): number[] {
  return Array.from({ length: IDS_NEEDED }, (_, index) => ids.first + index);
}

/** Ids that are in use and volumes that belong to them, in words. */
export async function leftovers(pve: Pve, target: Target): Promise<string[]> {
  const found: string[] = [];
  for (const vmid of ownIds(target)) if (!(await isFree(pve, vmid))) found.push(`VM ${vmid}`);
  const node = pve.node(target.node);
  const storages = await node.storages.list({ content: 'images', enabled: true });
  for (const { storage, active } of storages) {
    if (!active) continue;
    const volumes = await node.storage(storage).content.list({ content: 'images' });
    const own = new Set(ownIds(target));
    found.push(...volumes.filter(({ vmid }) => vmid !== undefined && own.has(vmid)).map(({ volid }) => volid));
  }
  return found;
}

/** Removes what carries the mark; says what it did. */
export async function removeLeftovers(pve: Pve, target: Target, mark: string): Promise<string[]> {
  const done: string[] = [];
  for (const vmid of ownIds(target)) {
    const vm = pve.node(target.node).vm(vmid);
    const values = await unlockedValues(pve, target.node, vmid);
    if (!values) continue;
    if (!values.get('description')?.includes(mark)) {
      done.push(`VM ${vmid} does not carry our mark and was left alone`);
      continue;
    }
    if (values.has('protection')) await vm.config.put({ delete: 'protection' });
    if ((await vm.status.current()).status === 'running') await pve.tasks.wait(await vm.status.stop());
    await pve.tasks.wait(await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true }));
    done.push(`VM ${vmid} was removed`);
  }
  return done;
}

/** A clone that outlived the process that began it has to end before it can be removed. */
async function unlockedValues(pve: Pve, node: string, vmid: number): Promise<ReadonlyMap<string, string> | undefined> {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    try {
      const { values } = await pve.node(node).vm(vmid).config.get();
      if (!values.has('lock') || waitedMs >= CLONE_WAIT_MS) return values;
    } catch (error) {
      if (isNotFound(error, 'guest')) return undefined;
      throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
