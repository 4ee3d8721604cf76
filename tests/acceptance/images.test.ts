/**
 * From a local file to VMs: it is unpacked, uploaded, imported into a template, cloned, configured by custom user-data,
 * replaced by a second version, and removed with everything it created. The steps follow from each other.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Plan } from '../../src/kinds/change.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { readState } from '../../src/state/state-file.ts';
import { Account } from './account.ts';
import { leftovers, removeLeftovers } from './engine/leftovers.ts';
import { apply, destroy, plan, type Runs } from './engine/runs.ts';
import { findTarget, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';

const MIB = 1024 ** 2;
const account = new Account();
const name = `acceptance-${randomBytes(4).toString('hex')}`;
const directory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
let server: AcceptanceServer;
let target: Target;
let runs: Runs;
let storages: { readonly imports: string; readonly isos: string };

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
  runs = { pve: server.pve, clock: server.clock, stateDirectory: join(directory, 'state'), directory };
  const rows = await server.pve.node(target.node).storages.list({ enabled: true });
  const holding = (content: string) => rows.find((row) => row.active && row.content.includes(content))?.storage;
  const [imports, isos] = [holding('import'), holding('iso')];
  if (imports === undefined || isos === undefined) throw new Error('no storage for import and ISO images');
  storages = { imports, isos };
  writeFileSync(join(directory, 'disk.raw.gz'), gzipSync(Buffer.alloc(8 * MIB, 7)));
  account.checked(`images: ${imports} for imports, ${isos} for ISO images, disks on ${target.disk.storage}, ${name}`);
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
    for (const volid of storages ? await files() : []) {
      const { content } = server.pve.node(target.node).storage(volid.split(':')[0] ?? '');
      const upid = await content.delete(volid);
      if (upid) await server.pve.tasks.wait(upid);
      account.checked(`${volid} was removed`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
    account.print();
    await server?.close();
  }
});

interface StackOptions {
  readonly templateMemory: string;
  readonly greeting: string;
}

const FIRST: StackOptions = { templateMemory: '128MiB', greeting: 'first' };

function text({ templateMemory, greeting }: StackOptions): string {
  const { node, bridge, ids, fields, disk, power, mode, storage } = target;
  return JSON.stringify({
    version: 1,
    stack: name,
    images: {
      disk: { path: './disk.raw.gz', file: `${name}.raw`, content: 'import', storage: storages.imports },
    },
    templates: {
      [`${name}-base`]: {
        node,
        vmids: `${ids.first}-${ids.first + 1}`,
        guest: 'plain',
        memory: templateMemory,
        scsi_controller: 'virtio-scsi-single',
        disks: { scsi0: { image: 'disk', storage: disk.storage, size: '1GiB' } },
        nics: { net0: { bridge } },
        boot: ['scsi0'],
        ...fields,
      },
    },
    vms: {
      member: {
        count: 2,
        name: `${name}-\${number}`,
        node,
        guest: 'plain',
        power,
        vmids: `${ids.first + 2}-${ids.first + 4}`,
        clone: { template: `${name}-base`, mode, ...(mode === 'full' && storage !== undefined && { storage }) },
        nics: { net0: { bridge, ipv4: { addresses: '192.0.2.11-192.0.2.60/24', gateway: '192.0.2.1' } } },
        cloud_init: { storage: storages.isos, user_data: { text: `#cloud-config\nfinal_message: ${greeting}\n` } },
        ...fields,
      },
    },
  });
}

/** What the suite has put into storages for imports and ISO images. */
async function files(): Promise<string[]> {
  const node = server.pve.node(target.node);
  const lists = await Promise.all([
    node.storage(storages.imports).content.list({ content: 'import' }),
    node.storage(storages.isos).content.list({ content: 'iso' }),
  ]);
  return [...new Set(lists.flat().map(({ volid }) => volid))].filter((volid) => volid.includes(name)).sort();
}

async function planned(options: StackOptions): Promise<Plan> {
  const result = await plan(runs, text(options));
  if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
  return result.plan;
}

async function expectNoChanges(options: StackOptions): Promise<void> {
  expect((await planned(options)).steps.map(({ id }) => id)).toEqual([]);
}

async function valuesOf(vmid: number): Promise<ReadonlyMap<string, string>> {
  return (await server.pve.node(target.node).vm(vmid).config.get()).values;
}

async function vmidOf(address: string): Promise<number> {
  const state = await readState(new DirectoryStore(runs.stateDirectory), name);
  return state.vms[address]?.vmid ?? 0;
}

const step = stepsOf(account);

describe('from a local file to VMs', () => {
  step('sends the image, builds the template from it, and clones it', async () => {
    await apply(runs, text(FIRST));
    const template = await valuesOf(target.ids.first);
    expect(template.get('template')).toBe('1');
    expect(template.get('name')).toBe(`${name}-base`);
    expect(template.get('scsi0')).toMatch(/base-\d+-disk-0/);
    const present = await files();
    expect(present).toContain(`${storages.imports}:import/${name}.raw`);
    for (const number of [1, 2]) {
      const values = await valuesOf(await vmidOf(`vm.member[${number}]`));
      const medium = (values.get('ide2') ?? '').split(',')[0] ?? '';
      expect(medium).toMatch(new RegExp(`:iso/proxwright-${name}-${number}-[0-9a-f]{16}\\.iso$`));
      expect(present).toContain(medium);
    }
    return 'image sent, template built, two VMs cloned and told';
  });

  step('finds nothing to do afterwards', async () => {
    await expectNoChanges(FIRST);
    return 'the second plan is empty';
  });

  step('replaces cloud-init files that change, and removes the old ones', async () => {
    const before = await files();
    await apply(runs, text({ ...FIRST, greeting: 'second' }));
    await expectNoChanges({ ...FIRST, greeting: 'second' });
    const after = await files();
    expect(after).toHaveLength(before.length);
    expect(after.filter((volid) => before.includes(volid))).toEqual([`${storages.imports}:import/${name}.raw`]);
    return 'cloud-init files replaced, old ones gone';
  });

  step('builds a second version beside the first when the recipe changes', async () => {
    const options = { templateMemory: '192MiB', greeting: 'second' };
    await apply(runs, text(options));
    await expectNoChanges(options);
    const [old, current] = [await valuesOf(target.ids.first), await valuesOf(target.ids.first + 1)];
    expect([old.get('template'), old.get('name')]).toEqual(['1', `${name}-base-retired-${target.ids.first}`]);
    expect([current.get('template'), current.get('name')]).toEqual(['1', `${name}-base`]);
    return 'the second version has the name, the first one stays';
  });

  step('leaves nothing behind', async () => {
    const options = text({ templateMemory: '192MiB', greeting: 'second' });
    await destroy(runs, options, { all: true });
    expect(await leftovers(server.pve, target)).toEqual([]);
    expect(await files()).toEqual([]);
    return 'VMs, both versions, image and cloud-init files are gone';
  });
});
