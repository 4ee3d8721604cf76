/** What the guide "Coming from bpg or Telmate" promises: a VM of another provider is taken over, not replaced. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Former, formerState, runBesideFormer } from '../terraform/support/former.ts';
import { vm } from '../terraform/support/hcl.ts';
import { HOSTS } from '../terraform/support/hosts.ts';
import { problems, Scene } from '../terraform/support/scene.ts';

const WEB = {
  name: 'web',
  node: 'pve1',
  memory: '2GiB',
  cpu: { cores: 2 },
  nics: { net0: { bridge: 'vmbr0' } },
};

const FORMER: readonly Former[] = [
  {
    type: 'proxmox_virtual_environment_vm',
    provider: 'registry.terraform.io/bpg/proxmox',
    // Migrated since: the node is out of date.
    attributes: { id: '410', vm_id: 410, node_name: 'pve2', name: 'web' },
  },
  {
    type: 'proxmox_vm',
    provider: 'registry.terraform.io/bpg/proxmox',
    attributes: { id: 410, node_name: 'pve1', name: 'web' },
  },
  {
    type: 'proxmox_vm_qemu',
    provider: 'registry.terraform.io/telmate/proxmox',
    attributes: { id: 'pve1/qemu/410', vmid: 410, target_node: 'pve1', name: 'web' },
  },
];

describe.each(HOSTS)('a VM of another provider under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
    await scene.outside.tasks.wait(await scene.outside.node('pve1').vm(9000).clone({ newid: 410, name: 'web' }));
  });

  afterEach(() => scene.close());

  const run = (args: readonly string[], former: string) => runBesideFormer(scene, args, former);

  it.each(FORMER)('is taken over from a $type by a moved block', async (former) => {
    await writeFile(join(scene.workspace.directory, 'terraform.tfstate'), formerState([{ ...former, name: 'web' }]));
    await scene.write(vm('web', WEB), `moved {\n  from = ${former.type}.web\n  to   = proxwright_vm.web\n}\n`);
    const before = new Map(scene.configOf('web'));
    // Without the read that takes it over, the provider does not know whose VM that is.
    const blind = await run(['plan', '-json', '-input=false', '-refresh=false'], former.provider);
    expect(problems(blind)).toEqual([expect.stringContaining('Not ours')]);
    const applied = await run(['apply', '-json', '-input=false', '-auto-approve'], former.provider);
    expect(problems(applied)).toEqual([]);
    const summary = applied.messages.find(({ type }) => type === 'change_summary');
    expect(summary).toMatchObject({ changes: { add: 0, remove: 0 } });
    expect(scene.configOf('web')).toEqual(before);
    const again = await run(['plan', '-json', '-input=false', '-detailed-exitcode'], former.provider);
    expect([again.code, problems(again)]).toEqual([0, []]);
    expect(scene.ours().map(({ vmid }) => vmid)).toEqual([410]);
  });

  it('is taken over by an import block, with nothing to change', async () => {
    await scene.write(vm('web', WEB), 'import {\n  to = proxwright_vm.web\n  id = "pve1/410"\n}\n');
    const before = new Map(scene.configOf('web'));
    expect(problems(await scene.apply())).toEqual([]);
    expect(scene.configOf('web')).toEqual(before);
    expect((await scene.plan()).code).toBe(0);
  });
});
