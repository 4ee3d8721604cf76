/** What a plan says before anything happens, and at which line. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ref, SMALL, settings, vm } from './support/hcl.ts';
import { HOSTS, ONE_HOST } from './support/hosts.ts';
import { NO_RIGHTS, problems, Scene, told, warnings } from './support/scene.ts';

/** Line of the first attribute of a lone VM: after the settings, an empty line and the head of the block. */
const FIRST = settings().split('\n').length + 2;

const lineOf = (attributes: object, name: string) => FIRST + Object.keys(attributes).indexOf(name);

describe.each(HOSTS)('a plan under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  it.each<[attribute: string, value: unknown, words: string]>([
    ['clone', { template: 'ubuntu-24.05' }, 'No visible VM is called "ubuntu-24.05"'],
    ['clone', { template: 'others-120' }, 'not a template'],
    ['disks', { scsi1: { size: '8GiB', storage: 'nowhere' } }, 'nowhere'],
    ['nics', { net0: { bridge: 'vmbr7' } }, 'vmbr7'],
    ['boot', ['scsi0', 'net4'], 'net4'],
    ['vmid', 150, '150'],
    ['disks', { scsi9999: { size: '8GiB' } }, 'scsi9999'],
    ['nics', { net: { bridge: 'vmbr0' } }, 'net'],
    ['memory', '8', 'memory'],
  ])('refuses a %s that cannot be: %j', async (name, value, words) => {
    const attributes: Record<string, unknown> = { ...SMALL, [name]: value };
    await scene.write(vm('web', attributes));
    const result = await scene.plan();
    expect([result.code, problems(result)]).toEqual([
      1,
      [expect.stringMatching(new RegExp(`^error ${lineOf(attributes, name)} `))],
    ]);
    expect(result.diagnostics.map(({ detail }) => detail).join()).toContain(words);
    expect(scene.requests.filter((line) => !line.startsWith('GET'))).toEqual([]);
  });

  it('refuses a node that is not there, and says nothing else of it', async () => {
    const attributes = { ...SMALL, node: 'pve9' };
    await scene.write(vm('web', attributes));
    expect(problems(await scene.plan())).toEqual([
      `error ${lineOf(attributes, 'node')} Missing reference: There is no node "pve9"; the cluster has pve1, pve2.`,
    ]);
  });

  it('points at every one of several mistakes', async () => {
    const attributes = { ...SMALL, memory: 'much', cpu: { cores: 0 }, nics: { eth0: { bridge: 'vmbr0' } } };
    await scene.write(vm('web', attributes));
    const lines = problems(await scene.plan()).map((line) => Number(line.split(' ')[1]));
    expect(lines.sort()).toEqual(['memory', 'cpu', 'nics'].map((name) => lineOf(attributes, name)).sort());
  });

  it('postpones what it cannot know yet, and apply finds out', async () => {
    const source = 'resource "terraform_data" "facts" {\n  input = { template = "ubuntu-24.04", memory = "1GiB" }\n}\n';
    const open = {
      ...SMALL,
      clone: { template: ref('terraform_data.facts.output.template') },
      memory: ref('terraform_data.facts.output.memory'),
    };
    await scene.write(source, vm('web', open));
    const planned = await scene.plan();
    expect([planned.code, problems(planned)]).toEqual([2, []]);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    expect(scene.configOf('web').get('memory')).toBe('1024');

    await scene.write(
      'resource "terraform_data" "other" {\n  input = "ubuntu-24.05"\n}\n',
      vm('other', { ...SMALL, name: 'other', clone: { template: ref('terraform_data.other.output') } }),
    );
    const late = await scene.apply();
    expect(problems(late).join()).toContain('No visible VM is called "ubuntu-24.05"');
  });
});

describe.each(ONE_HOST)('the provider under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  const configured = (provider: object, ...blocks: string[]) =>
    scene.workspace.write('main.tf', [settings(provider as Record<string, unknown>), ...blocks].join('\n'));

  it('warns or is silent where plan_checks says so', async () => {
    const bad = vm('web', { ...SMALL, nics: { net0: { bridge: 'vmbr7' } } });
    await configured({ plan_checks: 'warn' }, bad);
    const warned = await scene.plan();
    expect([warned.code, warnings(warned).join()]).toEqual([2, expect.stringContaining('vmbr7')]);
    await configured({ plan_checks: 'off' }, bad);
    const silent = await scene.plan();
    expect([silent.code, told(silent)]).toEqual([2, []]);
    // The server's word is the last.
    expect(problems(await scene.apply()).join()).toContain('vmbr7');
    expect(scene.ours()).toEqual([]);
  });

  it('shows the line to paste where the certificate is not believed', async () => {
    const wrong = 'AA:'.repeat(31).concat('AA');
    await configured({ fingerprint: wrong }, vm('web', SMALL));
    const refused = await scene.plan();
    expect(refused.code).toBe(1);
    expect(JSON.stringify(refused.diagnostics)).toContain(`fingerprint = \\"${scene.server.fingerprint}\\"`);
    expect(scene.requests).toEqual([]);
    await configured({ fingerprint: scene.server.fingerprint }, vm('web', SMALL));
    expect((await scene.plan()).code).toBe(2);
  });

  it('tells a token that sees nothing from a cluster that has nothing', async () => {
    await scene.write(vm('web', SMALL));
    const blind = await scene.run(['plan', '-json', '-input=false'], { PROXMOX_VE_API_TOKEN: NO_RIGHTS });
    expect(blind.code).toBe(1);
    expect(problems(blind).join()).toContain('The token sees no VM at all');
    expect(JSON.stringify(blind.diagnostics)).toContain('VM.Audit');
  });

  it('refuses a wrong token and an endpoint that does not answer', async () => {
    await scene.write(vm('web', SMALL));
    const wrong = await scene.run(['plan', '-json'], { PROXMOX_VE_API_TOKEN: 'root@pam!admin=wrong' });
    expect(problems(wrong).join()).toMatch(/token|credential|refused/i);
    const { code } = await scene.run(['plan', '-json'], { PROXMOX_VE_ENDPOINT: 'https://127.0.0.1:1' });
    expect(code).toBe(1);
  });

  it('answers data sources in one configuration with the VM they describe', async () => {
    await scene.write(
      'data "proxwright_nodes" "all" {}\n',
      'data "proxwright_storages" "images" {\n  node = "pve1"\n  content = "images"\n}\n',
      'data "proxwright_template" "ubuntu" {\n  name = "ubuntu-24.04"\n  node = "pve1"\n}\n',
      'data "proxwright_templates" "all" {}\n',
      'data "proxwright_permissions" "mine" {}\n',
      vm('web', {
        ...SMALL,
        node: ref('data.proxwright_nodes.all.names[0]'),
        clone: { template: ref('data.proxwright_template.ubuntu.vmid') },
        vmid: 410,
      }),
      'data "proxwright_vm" "web" {\n  vmid = proxwright_vm.web.vmid\n}\n',
      'data "proxwright_vms" "all" {\n  depends_on = [proxwright_vm.web]\n}\n',
      'output "seen" {\n  value = [data.proxwright_vm.web.name, length(data.proxwright_vms.all.vms), length(data.proxwright_templates.all.templates)]\n}\n',
    );
    expect(problems(await scene.apply())).toEqual([]);
    expect(await scene.outputs()).toEqual({ seen: ['web', 4, 4] });
    expect((await scene.plan()).code).toBe(0);
  });
});
