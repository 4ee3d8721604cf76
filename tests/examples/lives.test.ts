/** Every example on a fresh simulated host: validate, doctor, plan, apply, empty plan and destroy, as its README shows. */
import { afterEach, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/examples.ts';
import { outputsForPeople } from '../../src/engine/outputs/render.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { isHealthy } from '../../src/kinds/doctor/finding.ts';
import { type ExampleScene, openExample, type SceneOptions, shown } from './support/example-scene.ts';
import { optionsIn, shownLines } from './support/readme.ts';

let scene: ExampleScene | undefined;
afterEach(() => scene?.close());

async function open(name: string, options?: SceneOptions): Promise<ExampleScene> {
  const world = EXAMPLES[name]?.world ?? 'default';
  const first = await openExample(name, world, options);
  scene = first;
  return first;
}

/** With the values of variables that its README uses. */
async function openAsShown(name: string): Promise<ExampleScene> {
  const plain = await open(name);
  const options = optionsIn(plain.readme());
  plain.close();
  return open(name, options);
}

const allDone = (outcomes: Readonly<Record<string, string>>) =>
  Object.entries(outcomes).filter(([, outcome]) => outcome !== 'done');

describe.each(Object.keys(EXAMPLES))('%s', (name) => {
  it('works as its README says, and leaves nothing behind', async () => {
    const example = await openAsShown(name);
    const before = example.volumes();
    expect(example.opened.remarks).toEqual([]);
    await example.run(async () => {
      const findings = await example.doctor();
      expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
      expect(isHealthy(findings)).toBe(true);
      const plan = shown(await example.plan());
      expect(allDone(await example.apply())).toEqual([]);
      const second = await example.plan();
      expect(shown(second)).toBe('No changes.\n');
      expect(isEmpty(second)).toBe(true);
      const outputs = await example.outputs();
      expect(outputs.warnings).toEqual([]);
      const printed = [plan, shown(second), outputsForPeople(outputs)].join('').split('\n');
      const lines = shownLines(example.readme());
      expect(lines.length).toBeGreaterThan(2);
      expect(lines.filter((line) => !printed.includes(line))).toEqual([]);
      expect(allDone(await example.destroy())).toEqual([]);
      if (example.opened.stack.templates.length > 0) expect(allDone(await example.destroy({ all: true }))).toEqual([]);
    });
    expect(example.volumes()).toEqual(before);
  });
});

describe('from-bare-host', () => {
  it('keeps image and template when its VMs are destroyed, and reuses them', async () => {
    const example = await open('from-bare-host');
    await example.run(async () => {
      await example.apply();
      await example.destroy();
      expect(example.volumes().filter((volume) => volume.includes('proxwright-'))).toEqual([]);
      const kinds = (await example.plan()).changes.map(({ address, kind }) => `${address} ${kind}`);
      expect(kinds).toEqual([
        'image.noble["vmhost"] none',
        'template.ubuntu-24.04 none',
        'vm.web[1] create',
        'vm.web[2] create',
      ]);
    });
  });

  it('is not ready without the guest agent that its user data installs', async () => {
    const example = await open('from-bare-host', {
      withFiles: { 'user-data.yaml': '#cloud-config\npackages: [vim]\n' },
    });
    await example.run(async () => {
      expect((await example.apply())['vm.web[1]']).toContain('Its guest agent does not answer.');
    });
  });
});

describe('talos-iso-template', () => {
  it('removes ISO, NoCloud volume and machine configuration from its finished template', async () => {
    const example = await open('talos-iso-template');
    await example.run(() => example.apply());
    const template = example.config(9000);
    expect(template).toMatchObject({ name: 'talos-v1.12.4-base', template: '1', boot: 'order=scsi0', reboot: '0' });
    expect(Object.keys(template).filter((key) => /^ide/.test(key))).toEqual([]);
    expect(template['scsi0']).toMatch(/^tank:base-9000-disk-0/);
    expect(example.config(111)).toMatchObject({ reboot: '1', boot: 'order=scsi0' });
    expect(example.volumes().filter((volume) => volume.startsWith('local:'))).toEqual([
      'local:iso/talos-v1.12.4-nocloud-amd64.iso',
    ]);
  });

  it('gives up, and keeps the VM, if the template does not install itself', async () => {
    const example = await open('talos-iso-template', { withFiles: { 'worker.yaml': ' \n' } });
    await example.run(async () => {
      expect((await example.apply())['template.talos-v1.12.4-base']).toContain('has not shut itself down within 30m');
    });
  });
});

describe('talos-single-host', () => {
  it('gives each GPU worker its card through a mapping, and the contract its nodes', async () => {
    const example = await openAsShown('talos-single-host');
    await example.run(async () => {
      await example.apply();
      expect(example.config(201)['hostpci0']).toBe('mapping=proxwright-0000-01-00-10de-2204,pcie=1');
      expect(example.config(202)['hostpci0']).toBe('mapping=proxwright-0000-41-00-10de-2204,pcie=1');
      const { values } = await example.outputs();
      expect(values.talos_node_roles).toEqual({
        'talos-control-1': 'control-plane',
        'talos-worker-1': 'worker',
        'talos-gpu-1': 'worker',
        'talos-gpu-2': 'worker',
      });
      expect(values.talos_vm_ids).toMatchObject({ 'talos-control-1': 101, 'talos-gpu-2': 202 });
    });
  });
});

describe('ubuntu-staggered', () => {
  it('creates its VMs with the delay between them, each with its own values', async () => {
    const example = await openAsShown('ubuntu-staggered');
    await example.run(async () => {
      await example.apply();
      expect(example.config(100)).toMatchObject({ name: 'ubuntu-1', cores: '4', sockets: '2', memory: '16384' });
      expect(example.config(101)).toMatchObject({ name: 'ubuntu-2', cores: '2', sockets: '2', memory: '8192' });
      const [first = 0, second = 0, ...others] = example.beginnings('qmclone');
      expect(others).toEqual([]);
      expect(second - first).toBeGreaterThanOrEqual(30_000);
    });
  });

  it('warns about values for a VM that does not exist', async () => {
    const example = await open('ubuntu-staggered', { var: ['vm_configs={ubuntu-9: {memory: 8GiB}}'] });
    expect(example.opened.remarks.join()).toContain('The override for "ubuntu-9" matches no VM');
  });

  it.each([
    [['vm_count=0'], 'vm_count'],
    [['vm_count=51'], 'vm_count'],
    [['deployment_delay=30'], 'deployment_delay'],
    [['vm_name_prefix=Web_Server'], 'vm_name_prefix'],
    [['vm_configs={ubuntu-1: {memry: 8GiB}}'], 'memry'],
  ])('rejects %j before it creates anything', async (settings, words) => {
    await expect(openExample('ubuntu-staggered', 'default', { var: settings })).rejects.toThrow(words);
  });
});
