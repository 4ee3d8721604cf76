/** What the guide "Coming from bpg or Telmate" promises: a VM of another provider is taken over, not replaced. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { createProvider } from '../../../src/provider/index.ts';
import { PROVIDER_ADDRESS, reattach } from '../../../src/provider/testing/reattach.ts';
import type { RunResult } from '../../../src/provider/testing/terraform.ts';
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

interface Former {
  readonly type: string;
  readonly provider: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** As much of a state of theirs as matters here. */
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

function stateOf({ type, provider, attributes }: Former): string {
  return JSON.stringify({
    version: 4,
    terraform_version: '1.8.0',
    serial: 1,
    lineage: '6f0c5c1e-1f2a-4a0f-8c0e-3a54e0a0b111',
    outputs: {},
    resources: [
      {
        mode: 'managed',
        type,
        name: 'web',
        provider: `provider["${provider}"]`,
        instances: [{ schema_version: 0, attributes }],
      },
    ],
  });
}

describe.each(HOSTS)('a VM of another provider under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
    await scene.outside.tasks.wait(await scene.outside.node('pve1').vm(9000).clone({ newid: 410, name: 'web' }));
  });

  afterEach(() => scene.close());

  /** The former provider is one that Terraform may ask for its schema; it is asked for nothing else. */
  async function run(args: readonly string[], former: string): Promise<RunResult> {
    const environment = { ...scene.environment };
    const provider = await createProvider({ log: silentLogger, environment, directory: scene.workspace.directory });
    const attached = await reattach(provider);
    const plugins = JSON.parse(attached.environment.TF_REATTACH_PROVIDERS) as Record<string, unknown>;
    const ours = plugins[PROVIDER_ADDRESS];
    // OpenTofu looks for the same provider in a registry of its own.
    const others = [former, former.replace('registry.terraform.io', 'registry.opentofu.org')];
    const both = { ...plugins, ...Object.fromEntries(others.map((address) => [address, ours])) };
    try {
      return await scene.workspace.run(args, { TF_REATTACH_PROVIDERS: JSON.stringify(both) });
    } finally {
      attached.close();
    }
  }

  it.each(FORMER)('is taken over from a $type by a moved block', async (former) => {
    await writeFile(join(scene.workspace.directory, 'terraform.tfstate'), stateOf(former));
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
