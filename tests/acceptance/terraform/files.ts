/** Files that the suite uploads: where they can go, which exist, and their removal. */
import type { Pve } from '../../../src/pve/index.ts';

/** A storage of the node that takes images to import. */
export async function findImportStorage(pve: Pve, node: string): Promise<string> {
  const rows = await pve.node(node).storages.list({ enabled: true });
  const found = rows.find(({ active, content }) => active && content.includes('import'))?.storage;
  if (found === undefined) throw new Error(`${node} has no storage with content "import"`);
  return found;
}

/** Those that carry the mark in their names. */
export async function filesIn(pve: Pve, node: string, storage: string, mark: string): Promise<string[]> {
  const volumes = await pve.node(node).storage(storage).content.list({ content: 'import' });
  return volumes.map(({ volid }) => volid).filter((volid) => volid.includes(mark));
}

export async function removeFiles(pve: Pve, node: string, storage: string, mark: string): Promise<string[]> {
  const done: string[] = [];
  for (const volid of await filesIn(pve, node, storage, mark)) {
    const upid = await pve.node(node).storage(storage).content.delete(volid);
    if (upid) await pve.tasks.wait(upid);
    done.push(`${volid} was removed`);
  }
  return done;
}
