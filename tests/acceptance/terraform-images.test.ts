/**
 * A real Terraform from a local file to a VM: the file is uploaded, a template is built from it, a VM is cloned. The
 * steps follow from each other; whatever was made is removed.
 */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { findHostPrograms, type RunResult, type Workspace } from '../../src/provider/testing/terraform.ts';
import { ADDRESS } from '../../tools/provider/platforms.ts';
import { Account } from './account.ts';
import { leftovers, removeLeftovers } from './engine/leftovers.ts';
import { findTarget, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';
import { filesIn, findImportStorage, removeFiles } from './terraform/files.ts';
import { type InstalledWorkspace, installedWorkspace } from './terraform/installed-workspace.ts';

const MIB = 1024 ** 2;
/** Text, so that it can be written as a file of a workspace. */
const DISK = 'proxwright '.repeat(MIB).slice(0, 4 * MIB);
const SHA256 = createHash('sha256').update(DISK).digest('hex');

const [host] = await findHostPrograms();
const account = new Account();
const name = `acceptance-${randomBytes(4).toString('hex')}`;
let server: AcceptanceServer;
let target: Target;
let storage: string;
let installed: InstalledWorkspace | undefined;

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
  storage = await findImportStorage(server.pve, target.node);
  if (!host) return;
  installed = await installedWorkspace(host, server);
  await installed.workspace.write('disk.raw', DISK);
  account.checked(`${host.name} ${host.version}: ${storage} for imports, disks on ${target.disk.storage}, ${name}`);
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
    if (storage) for (const line of await removeFiles(server.pve, target.node, storage, name)) account.checked(line);
  } finally {
    await installed?.remove();
    account.print();
    await server?.close();
  }
});

const next = stepsOf(account, {
  missing: () => (installed ? undefined : 'neither terraform nor tofu is on the PATH'),
});

function step(title: string, act: (terraform: Workspace) => Promise<string>): void {
  next(title, () => act((installed as InstalledWorkspace).workspace)); // without one it is skipped
}

function configuration(templateMemory: string): string {
  const { node, bridge, ids, fields, disk, power, mode } = target;
  const clone = { template: ref('proxwright_template.base.name'), mode, ...cloneStorage(target) };
  return JSON.stringify({
    terraform: { required_providers: { proxwright: { source: ADDRESS } } },
    provider: { proxwright: {} },
    resource: {
      proxwright_image: {
        disk: { node, storage, content: 'import', path: 'disk.raw', file: `${name}.raw`, sha256: SHA256 },
      },
      proxwright_template: {
        base: {
          name: `${name}-base`,
          node,
          vmids: `${ids.first}-${ids.first + 1}`,
          guest: 'plain',
          memory: templateMemory,
          scsi_controller: 'virtio-scsi-single',
          disks: { scsi0: { import_from: ref('proxwright_image.disk.id'), storage: disk.storage, size: '1GiB' } },
          nics: { net0: { bridge } },
          boot: ['scsi0'],
          triggers: { image: ref('proxwright_image.disk.sha256') },
          ...fields,
        },
      },
      proxwright_vm: {
        member: {
          name: `${name}-1`,
          node,
          vmid: ids.first + 2,
          guest: 'plain',
          power,
          stop_on_destroy: true,
          clone,
          memory: '128MiB',
          ...fields,
        },
      },
    },
  });
}

function ref(expression: string): string {
  return `\${${expression}}`;
}

function cloneStorage({ mode, storage }: Target): { storage?: string } {
  return mode === 'full' && storage !== undefined ? { storage } : {};
}

function expectCode(result: RunResult, code: number): void {
  const words = result.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`).join('\n');
  expect(result.code, words || result.stdout + result.stderr).toBe(code);
}

async function valuesOf(vmid: number): Promise<ReadonlyMap<string, string>> {
  return (await server.pve.node(target.node).vm(vmid).config.get()).values;
}

const files = () => filesIn(server.pve, target.node, storage, name);

describe('Terraform from a local file to a VM', () => {
  step('plans image, template and VM, and makes nothing', async (terraform) => {
    await terraform.write('main.tf.json', configuration('128MiB'));
    expectCode(await terraform.plan(), 2);
    expect([await leftovers(server.pve, target), await files()]).toEqual([[], []]);
    return 'a plan for all three, nothing made by it';
  });

  step('makes them in one apply, and then has nothing to do', async (terraform) => {
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    expect(await files()).toEqual([`${storage}:import/${name}.raw`]);
    const template = await valuesOf(target.ids.first);
    expect([template.get('template'), template.get('name')]).toEqual(['1', `${name}-base`]);
    const member = await valuesOf(target.ids.first + 2);
    expect([member.get('name'), member.get('memory')]).toEqual([`${name}-1`, '128']);
    expect(member.get('scsi0')).toContain('size=1G');
    return 'image sent, template built, VM cloned, and the plan is empty';
  });

  step('builds a second version beside the first, and the VM stays', async (terraform) => {
    const before = await terraform.state();
    await terraform.write('main.tf.json', configuration('192MiB'));
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    const after = await terraform.state();
    expect(after.get('proxwright_template.base')).toMatchObject({ vmid: target.ids.first + 1 });
    expect(after.get('proxwright_vm.member')?.id).toBe(before.get('proxwright_vm.member')?.id);
    expect((await valuesOf(target.ids.first)).get('name')).toBe(`${name}-base-retired-${target.ids.first}`);
    return 'the second version has the name, the VM was not touched';
  });

  step('destroys all of it and leaves nothing', async (terraform) => {
    expectCode(await terraform.destroy(), 0);
    expect([await leftovers(server.pve, target), await files()]).toEqual([[], []]);
    return 'VM, both versions and the image are gone';
  });
});
