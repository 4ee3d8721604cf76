/** A VM of another provider's resource becomes ours by a `moved` block: nothing is imported by hand, nothing is replaced. */
import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { createProvider } from '../../../src/provider/index.ts';
import type { Provider, ResourceType } from '../../../src/provider/provider.ts';
import { reattach } from '../../../src/provider/testing/reattach.ts';
import { vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

/** OpenTofu reads the first in a state of Terraform as the second. */
const OTHERS = ['registry.terraform.io/bpg/proxmox', 'registry.opentofu.org/bpg/proxmox'] as const;
const MOVED = 'moved {\n  from = proxmox_virtual_environment_vm.old\n  to   = proxwright_vm.web\n}\n';

function given(type: 'string' | 'number') {
  return { type: { kind: 'value', type }, given: 'optional', description: '' } as const;
}

/** As much of the other provider as a host wants that finds it in its state. */
function otherProvider(): Provider {
  const unasked = async (): Promise<never> => {
    throw new Error('the other provider is not asked');
  };
  const resource: ResourceType = {
    schema: { version: 0, description: '', attributes: { vm_id: given('number'), node_name: given('string') } },
    validate: async () => [],
    upgrade: async ({ state }) => ({ state, diagnostics: [] }),
    read: unasked,
    plan: unasked,
    apply: unasked,
    import: unasked,
  };
  return {
    schema: { version: 0, description: '', attributes: {} },
    resources: new Map([['proxmox_virtual_environment_vm', async () => resource]]),
    dataSources: new Map(),
    validate: async () => [],
    configure: async () => [],
    stop: () => {},
  };
}

function stateOf(vmid: number): string {
  const instance = { schema_version: 0, attributes: { vm_id: vmid, node_name: 'pve1' } };
  return JSON.stringify({
    version: 4,
    terraform_version: '1.11.4',
    serial: 1,
    lineage: '00000000-0000-4000-8000-00000000000a',
    outputs: {},
    resources: [
      {
        mode: 'managed',
        type: 'proxmox_virtual_environment_vm',
        name: 'old',
        provider: `provider["${OTHERS[0]}"]`,
        instances: [instance],
      },
    ],
  });
}

describe.each(HOSTS)('a VM of another provider under $name $version', (host) => {
  let scene: Scene;
  afterEach(() => scene.close());

  it('is moved, and the plan is empty', async () => {
    scene = await Scene.open({ host });
    const ours = await reattach(
      await createProvider({ log: silentLogger, environment: scene.environment, directory: scene.workspace.directory }),
    );
    const theirs = await Promise.all(OTHERS.map((address) => reattach(otherProvider(), address)));
    const all = [ours, ...theirs].map(({ environment }) => JSON.parse(environment.TF_REATTACH_PROVIDERS) as object);
    const environment = { TF_REATTACH_PROVIDERS: JSON.stringify(Object.assign({}, ...all)) };
    try {
      await scene.workspace.write('terraform.tfstate', stateOf(150));
      await scene.write(MOVED, vm('web', { name: 'others-150', node: 'pve1', memory: '512MiB', cpu: { cores: 1 } }));
      const run = (...args: string[]) => scene.workspace.run(args, environment);
      expect(problems(await run('apply', '-json', '-auto-approve'))).toEqual([]);
      const state = await scene.state();
      expect(state.get('proxwright_vm.web')).toMatchObject({ vmid: 150, current_node: 'pve1' });
      expect([...state.keys()]).toEqual(['proxwright_vm.web']);
      expect((await scene.plan()).code).toBe(0);
      expect(scene.requests.filter((line) => !line.startsWith('GET'))).toEqual([]);
    } finally {
      for (const served of [ours, ...theirs]) served.close();
    }
  });
});
