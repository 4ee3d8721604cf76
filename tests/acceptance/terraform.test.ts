/**
 * A real Terraform with the provider as users install it, on two small VMs: planned, made, changed, changed by others,
 * imported, destroyed. The steps follow from each other; whatever was made is removed.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { findHostPrograms, type RunResult, type Workspace } from '../../src/provider/testing/terraform.ts';
import { Account } from './account.ts';
import { leftovers, removeLeftovers } from './engine/leftovers.ts';
import { findTarget, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';
import { configuration, LABELS, type VmOptions } from './terraform/configuration.ts';
import { type InstalledWorkspace, installedWorkspace } from './terraform/installed-workspace.ts';

const FIRST: VmOptions = { memory: '128MiB', tags: ['acceptance'], moreGib: 1 };
const SECOND: VmOptions = { memory: '192MiB', tags: ['acceptance', 'changed'], moreGib: 2 };

const [host] = await findHostPrograms();
const account = new Account();
const name = `acceptance-${randomBytes(4).toString('hex')}`;
let server: AcceptanceServer;
let target: Target;
let installed: InstalledWorkspace | undefined;

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
  if (!host) return;
  installed = await installedWorkspace(host, server);
  account.checked(
    `${host.name} ${host.version}: template ${target.template} on ${target.node}, ids from ${target.ids.first}`,
  );
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
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

const write = (terraform: Workspace, options: VmOptions, withoutClone = false) =>
  terraform.write('main.tf.json', configuration(name, target, options, withoutClone));

function expectCode(result: RunResult, code: number): void {
  const words = result.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`).join('\n');
  expect(result.code, words || result.stdout + result.stderr).toBe(code);
}

const memoryOf = async (index: number) => {
  const entries = await server.pve
    .node(target.node)
    .vm(target.ids.first + index)
    .pending();
  const entry = entries.find(({ key }) => key === 'memory');
  return entry?.pending ?? entry?.value;
};

describe('Terraform with VMs of its own', () => {
  step('plans two VMs and makes nothing', async (terraform) => {
    await write(terraform, FIRST);
    expectCode(await terraform.plan(), 2);
    expect(await leftovers(server.pve, target)).toEqual([]);
    return 'a plan for two VMs, nothing made by it';
  });

  step('makes them, and then has nothing to do', async (terraform) => {
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['128', '128']);
    return 'two VMs made, and the plan is empty';
  });

  step('changes them in place', async (terraform) => {
    const before = await terraform.state();
    await write(terraform, SECOND);
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    const after = await terraform.state();
    for (const label of LABELS) {
      const address = `proxwright_vm.${label}`;
      expect(after.get(address)?.id).toBe(before.get(address)?.id);
    }
    expect([await memoryOf(0), await memoryOf(1)]).toEqual(['192', '192']);
    return 'memory, tags and disk changed in place, and the plan is empty again';
  });

  step('shows what another client changed, and corrects it', async (terraform) => {
    await server.pve.node(target.node).vm(target.ids.first).config.put({ cores: 2 });
    const drifted = await terraform.plan();
    expectCode(drifted, 2);
    const changed = drifted.messages.filter(({ type }) => type === 'planned_change').map(({ change }) => change);
    expect(changed).toMatchObject([{ resource: { addr: 'proxwright_vm.first' }, action: 'update' }]);
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    return 'a foreign change is shown, and mended';
  });

  step('takes a VM over by its id with an empty plan', async (terraform) => {
    expectCode(await terraform.run(['state', 'rm', 'proxwright_vm.second']), 0);
    await write(terraform, SECOND, true);
    const id = `${target.node}/${target.ids.first + 1}`;
    expectCode(await terraform.run(['import', '-input=false', '-no-color', 'proxwright_vm.second', id]), 0);
    // The first one loses its `clone` once; the imported one never had it.
    expectCode(await terraform.apply(), 0);
    expectCode(await terraform.plan(), 0);
    return `${id} was imported, and the plan is empty`;
  });

  step('destroys them and leaves nothing', async (terraform) => {
    expectCode(await terraform.destroy(), 0);
    expect(await leftovers(server.pve, target)).toEqual([]);
    return 'destroyed: ids are free, no volume is left';
  });
});
