/** Changes made outside Terraform are shown exactly and corrected; and VMs that existed before their configuration. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SMALL, vm } from './support/hcl.ts';
import { HOSTS, ONE_HOST } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

const WEB = {
  ...SMALL,
  vmid: 410,
  cpu: { cores: 2 },
  disks: { scsi0: { size: '4GiB' } },
  nics: { net0: { bridge: 'vmbr0', vlan: 20 } },
  tags: ['web', 'prod'],
  description: 'Serves pages.',
  on_boot: true,
};

/** What another client does, and the attributes that show it. */
const FOREIGN: readonly [what: Record<string, string | number>, paths: readonly string[]][] = [
  [{ memory: 2048 }, ['memory']],
  [{ cores: 4 }, ['cpu.cores']],
  [{ tags: 'web' }, ['tags']],
  [{ name: 'mine' }, ['name']],
  [{ onboot: 0 }, ['on_boot']],
];

describe.each(ONE_HOST)('drift under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  it.each(['stopped', 'running'])('shows at exactly that attribute of a %s VM, and is corrected', async (power) => {
    await scene.write(vm('web', { ...WEB, power, restart: 'when_needed' }));
    expect(problems(await scene.apply())).toEqual([]);
    const { config } = scene.outside.node('pve1').vm(410);
    for (const [what, paths] of FOREIGN) {
      await config.put(what);
      expect(await scene.changes()).toEqual([{ address: 'proxwright_vm.web', actions: ['update'], changed: paths }]);
      // Undone by hand, it is no longer a difference.
      if (power === 'running' && ('memory' in what || 'cores' in what))
        await config.put({ revert: Object.keys(what).join() });
      else expect(problems(await scene.apply())).toEqual([]);
      expect(await scene.changes()).toEqual([]);
    }
    const nic = scene.configOf('web').get('net0') ?? '';
    await config.put({ net0: nic.replace('tag=20', 'tag=30') });
    expect(await scene.changes()).toMatchObject([{ changed: ['nics.net0.vlan'] }]);
    expect(problems(await scene.apply())).toEqual([]);
    expect(scene.configOf('web').get('net0')).toBe(nic);
    expect(await scene.changes()).toEqual([]);
  });

  it('creates a VM again that was destroyed outside Terraform', async () => {
    await scene.write(vm('web', { ...WEB, power: 'stopped' }));
    expect(problems(await scene.apply())).toEqual([]);
    await scene.outside.tasks.wait(await scene.outside.node('pve1').vm(410).destroy());
    expect(await scene.changes()).toMatchObject([{ actions: ['create'] }]);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
  });

  it('reports an error if another VM has the id of ours, and never destroys it', async () => {
    await scene.write(vm('web', { ...WEB, power: 'stopped' }));
    expect(problems(await scene.apply())).toEqual([]);
    const pve1 = scene.outside.node('pve1');
    await scene.outside.tasks.wait(await pve1.vm(410).destroy());
    await scene.outside.tasks.wait(await pve1.vm(9000).clone({ newid: 410, name: 'somebody', full: true }));
    for (const result of [await scene.plan(), await scene.apply(), await scene.destroy()]) {
      expect(problems(result)).toEqual([expect.stringContaining('VM 410 on pve1 ("somebody") is another VM')]);
    }
    // Also if the host does not refresh before it destroys.
    const blind = await scene.destroy('-refresh=false');
    expect(problems(blind).join()).toMatch(/another VM|not ours|not the VM/i);
    expect(scene.ours()).toMatchObject([{ vmid: 410, name: 'somebody' }]);
  });
});

describe.each(HOSTS)('a VM that was there before, under $name $version', (host) => {
  let scene: Scene;
  const ADOPTED = {
    name: 'others-150',
    node: 'pve1',
    memory: '512MiB',
    cpu: { cores: 1 },
    nics: { net0: { bridge: 'vmbr0' } },
    tags: ['others'],
  };

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  it.each(['pve1/150', '150', 'others-150'])('is taken over by %s, and nothing is to be done', async (id) => {
    await scene.write(vm('web', ADOPTED));
    const before = [...(scene.world.vms.get(150)?.config.current ?? [])];
    const imported = await scene.run(['import', '-input=false', '-no-color', 'proxwright_vm.web', id]);
    expect([imported.code, imported.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    expect(await scene.changes()).toEqual([]);
    expect([...(scene.world.vms.get(150)?.config.current ?? [])]).toEqual(before);
  });

  it('is refused by an id that means nothing, several, or a template', async () => {
    await scene.write(vm('web', ADOPTED));
    const refusal = async (id: string) => {
      const { code, stderr } = await scene.run(['import', '-input=false', '-no-color', 'proxwright_vm.web', id]);
      expect(code).toBe(1);
      return stderr.replace(/\s*\n[│|]?\s*/g, ' ');
    };
    expect(await refusal('pve1/4711')).toContain('The token cannot see a VM "pve1/4711".');
    expect(await refusal('9000')).toContain('VM 9000 on pve1 is a template, not a VM.');
    expect(await refusal('ubuntu-24.04')).toContain('Several VMs are called "ubuntu-24.04": pve1/9000, pve2/9010.');
  });

  it('gets a configuration that validates and has nothing to do', async () => {
    await scene.write('import {\n  to = proxwright_vm.web\n  id = "pve1/150"\n}\n');
    const generated = await scene.plan('-generate-config-out=generated.tf');
    expect(problems(generated)).toEqual([]);
    expect(await scene.file('generated.tf')).toContain('resource "proxwright_vm" "web"');
    const validated = await scene.run(['validate', '-json']);
    expect(problems(validated)).toEqual([]);
    expect(problems(await scene.apply())).toEqual([]);
    await scene.write();
    expect(await scene.changes()).toEqual([]);
  });
});
