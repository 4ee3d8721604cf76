import { describe, expect, it } from 'vitest';
import { problemsOf, resolveText, stackOf } from '../testing/resolving.ts';

/** A stack of one template, `base`, whose lines begin at line 6. */
function templateStack(lines: string, more = ''): string {
  const indented = lines
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
  return `version: 1
stack: demo
images: { debian: { path: ./d.qcow2, content: import, storage: local, nodes: [a] }, cd: { path: ./d.iso, content: iso, storage: local, nodes: [a] } }
templates:
  base:
${indented}
${more}`;
}

const IMAGE = 'disks: { scsi0: { image: debian, storage: tank } }';
const CD = 'disks: { scsi0: { storage: tank, size: 8GiB }, ide0: { image: cd } }';

describe('a template', () => {
  it('is a VM with its name that never runs', () => {
    const [template] = stackOf(templateStack(`vmid: 9000\nnode: a\nprotection: true\n${IMAGE}`)).templates;
    expect(template).toEqual({
      name: 'base',
      vm: {
        address: 'template.base',
        group: 'base',
        number: 1,
        fields: {
          name: 'base',
          vmid: 9000,
          node: 'a',
          guest: 'plain',
          ownership: 'line',
          protection: true,
          disks: { scsi0: { import_from: 'local:import/d.qcow2', storage: 'tank' } },
          power: 'stopped',
          restart: 'never',
        },
        after: [],
        formerly: [],
        positions: expect.objectContaining({
          '': { file: 'stack.yaml', line: 5, column: 3 },
          name: { file: 'stack.yaml', line: 5, column: 3 },
          vmid: { file: 'stack.yaml', line: 6, column: 11 },
          'disks.scsi0.import_from': { file: 'stack.yaml', line: 9, column: 30 },
        }),
      },
    });
  });

  it('becomes one template per node, and each prefers its own id', () => {
    const text = templateStack(`nodes: [a, b]\nvmids: [9000-9001, 9010]\n${IMAGE}`);
    const { templates } = stackOf(text);
    expect(templates.map(({ vm }) => [vm.address, vm.number, vm.fields.node, vm.fields.vmid, vm.vmids])).toEqual([
      ['template.base["a"]', 1, 'a', undefined, [9000, 9001, 9010]],
      ['template.base["b"]', 2, 'b', undefined, [9000, 9001, 9010]],
    ]);
    expect(templates[1]?.vm.positions).toMatchObject({
      node: { line: 6, column: 16 },
      nodes: { line: 6, column: 12 },
      vmids: { line: 7, column: 12 },
    });
  });

  it('keeps the node in its address even if it lists only one', () => {
    const [template] = stackOf(templateStack(`nodes: [a]\nvmid: 9000\n${IMAGE}`)).templates;
    expect(template?.vm).toMatchObject({ address: 'template.base["a"]', fields: { node: 'a', vmid: 9000 } });
  });

  it('takes only the node from the defaults', () => {
    const defaults = 'defaults: { node: a, memory: 1GiB, clone: { template: 1 }, disks: { scsi1: { size: 1GiB } } }';
    const [template] = stackOf(templateStack(IMAGE, defaults)).templates;
    expect(template?.vm.fields).toMatchObject({ node: 'a' });
    expect(Object.keys(template?.vm.fields.disks ?? {})).toEqual(['scsi0']);
    expect([template?.vm.fields.memory, template?.vm.fields.clone]).toEqual([undefined, undefined]);
    expect(template?.vm.positions.node).toMatchObject({ line: 7, column: 19 });
  });

  it('does not take a default node that depends on the member of a group', () => {
    expect(problemsOf(templateStack(IMAGE, `defaults: { node: "pve\${number}" }`))).toEqual([
      '5:3 error BAD_VALUE: "node" is missing. | Write node: … here or under "defaults".',
    ]);
  });

  it('may be copied from a VM, named by name or id', () => {
    const from = (vm: string) => stackOf(templateStack(`node: a\nfrom: { vm: ${vm} }`)).templates[0]?.from;
    expect([from('golden'), from('100')]).toEqual(['golden', 100]);
  });

  it('may install itself, for 45 minutes or as long as it says', () => {
    const install = (text: string) => stackOf(templateStack(`node: a\ninstall: ${text}\n${CD}`)).templates[0]?.install;
    expect([install('{}'), install('{ timeout: 2h }')]).toEqual([{ timeoutMs: 2_700_000 }, { timeoutMs: 7_200_000 }]);
  });

  it('shares the addresses of a range among its nodes', () => {
    const nics = 'nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.0.0.5-10.0.0.6/24 } } }';
    const text = templateStack(`nodes: [a, b]\nguest: talos\n${nics}\n${IMAGE}`);
    expect(stackOf(text).templates.map(({ vm }) => vm.fields.nics?.net0?.ipv4)).toEqual([
      { address: '10.0.0.5/24' },
      { address: '10.0.0.6/24' },
    ]);
  });

  it('accepts references', () => {
    const text = templateStack(
      `node: "\${var.node}"\ndescription: "\${stack}"\n${IMAGE}`,
      'variables: { node: { type: string, default: b } }',
    );
    expect(stackOf(text).templates[0]?.vm.fields).toMatchObject({ node: 'b', description: 'demo' });
  });
});

describe('the rules for templates', () => {
  it.each([
    [
      'a field that only VMs have',
      `clone: { template: x }\n${IMAGE}`,
      '7:5 error UNKNOWN_FIELD: "clone" is not a field of a template. | To copy a VM, write from: { vm: NAME }.',
    ],
    [
      'a name',
      `name: x\n${IMAGE}`,
      '7:5 error UNKNOWN_FIELD: "name" is not a field of a template. | Its name is its key under "templates".',
    ],
    [
      'a power state',
      `power: running\n${IMAGE}`,
      '7:5 error UNKNOWN_FIELD: "power" is not a field of a template. | A template never runs.',
    ],
    ['readiness', `ready: { pings: 2 }\n${IMAGE}`, '7:5 error UNKNOWN_FIELD: "ready" is not a field of a template.'],
    ['high availability', `ha: {}\n${IMAGE}`, '7:5 error UNKNOWN_FIELD: "ha" is not a field of a template.'],
    [
      'a mistyped key',
      `instal: {}\n${CD}`,
      '7:5 error UNKNOWN_FIELD: "instal" is not a field of a template. | Did you mean "install"?',
    ],
    [
      'a mistyped key of install',
      `install: { timout: 5m }\n${CD}`,
      '7:16 error UNKNOWN_FIELD: "timout" is not a field of "install". | Did you mean "timeout"?',
    ],
    [
      'a bare number for a time',
      `install: { timeout: 5 }\n${CD}`,
      '7:25 error BAD_VALUE: "install.timeout": a duration needs a unit; write 5s or 5m.',
    ],
    [
      'an id and ids',
      `vmid: 9000\nvmids: 9000-9001\n${IMAGE}`,
      '7:5 error BAD_VALUE: "vmid" and "vmids" cannot be used together',
    ],
    [
      'no system',
      'disks: { scsi0: { storage: tank, size: 8GiB } }',
      '5:3 error BAD_VALUE: Nothing installs an operating system on the template "base". | Give a disk an image (image: NAME), or use an ISO with install: {}, or copy a VM with from: { vm: NAME }.',
    ],
    [
      'an ISO that is never started',
      CD,
      '7:58 error BAD_VALUE: The ISO in "ide0" is never booted, and a template does not keep an ISO. | Let it install itself with install: { timeout: 45m }, or remove it.',
    ],
    [
      'an image and an installation',
      'install: {}\ndisks: { scsi0: { image: debian, storage: tank }, ide0: { image: cd } }',
      '7:14 error BAD_VALUE: "install" boots an ISO, but "scsi0" gets its operating system from an image.',
    ],
    [
      'a copy with an image',
      `from: { vm: golden }\n${IMAGE}`,
      '8:21 error BAD_VALUE: "scsi0" is imported, but the template is a copy ("from").',
    ],
    [
      'a copy with an ISO',
      'from: { vm: golden }\ndisks: { ide0: { image: cd } }',
      '8:20 error BAD_VALUE: "ide0" holds an ISO, but the template is a copy ("from").',
    ],
    [
      'a copy that installs itself',
      'from: { vm: golden }\ninstall: {}',
      '8:14 error BAD_VALUE: "install" and "from" cannot be used together.',
    ],
    [
      'an installation without an ISO',
      'install: {}\ndisks: { scsi0: { storage: tank, size: 8GiB } }',
      '7:14 error BAD_VALUE: "install" boots the template from an ISO, but it has none.',
    ],
    [
      'an installation without a disk',
      'install: {}\ndisks: { ide0: { image: cd } }',
      '7:14 error BAD_VALUE: "install" needs an empty disk to install on, but the template has none.',
    ],
    [
      'a boot order without a disk',
      `boot: [net0]\nnics: { net0: { bridge: vmbr0 } }\n${IMAGE}`,
      '7:12 error BAD_VALUE: The finished template would boot from "net0" first, which is not a disk with an operating system. | Put the disk with the operating system first: boot: [scsi0].',
    ],
    [
      'a boot order of nothing but the ISO',
      `install: {}\nboot: [ide0]\n${CD}`,
      '8:11 error BAD_VALUE: The boot order names no disk, so nothing boots from this template.',
    ],
    [
      'a boot order that begins with the cloud-init drive',
      `boot: [ide2, scsi0]\ncloud_init: { storage: tank }\n${IMAGE}`,
      '7:12 error BAD_VALUE: The finished template would boot from "ide2" first',
    ],
    [
      'a boot order that begins with an empty disk',
      'boot: [scsi1, scsi0]\ndisks: { scsi0: { image: debian, storage: tank }, scsi1: { storage: tank, size: 1GiB } }',
      '7:12 error BAD_VALUE: The finished template would boot from "scsi1" first, which is empty. | Put the disk with the operating system first: boot: [scsi0].',
    ],
    [
      'a copy of itself by id',
      'vmid: 100\nfrom: { vm: 100 }',
      '8:17 error BAD_VALUE: The template is a copy of 100, so it cannot have the same ID.',
    ],
    [
      'a copy of itself by name',
      'from: { vm: Base }',
      '7:17 error BAD_VALUE: The template has the name of the VM that it is copied from, "Base"',
    ],
    [
      'what no VM may have',
      `machine: pc\npci: { hostpci0: { mapping: gpu, pcie: true } }\n${IMAGE}`,
      '8:44 error BAD_VALUE: PCI Express needs the machine type q35',
    ],
    [
      'cloud-init without a drive',
      `cloud_init: { user: me }\n${IMAGE}`,
      '7:25 error BAD_VALUE: The guest gets this from a cloud-init drive',
    ],
    [
      'a boot device that the VM will not have',
      `boot: [scsi0, net0]\n${IMAGE}`,
      '7:19 error BAD_VALUE: The boot order names "net0", which this VM will not have.',
    ],
  ])('%s', (_, lines, expected) => {
    expect(problemsOf(templateStack(`node: a\n${lines}`))).toEqual([expect.stringContaining(expected)]);
  });

  it.each([
    [
      'two disks from images',
      'disks: { scsi0: { image: debian, storage: tank }, scsi1: { image: debian, storage: tank } }',
    ],
    ['a boot order that names the ISO first', `install: {}\nboot: [ide0, scsi0]\n${CD}`],
    [
      'a second ISO for the installation',
      `install: {}\ndisks: { scsi0: { storage: t, size: 8GiB }, ide0: { image: cd }, ide1: { iso: "local:iso/x.iso" } }`,
    ],
    [
      'a copy whose disks grow and whose boot order is the original’s',
      'from: { vm: golden }\ndisks: { scsi0: { size: 20GiB } }\nboot: [scsi0, net0]',
    ],
    ['a device of the host', `machine: q35\npci: { hostpci0: { mapping: gpu, pcie: true } }\n${IMAGE}`],
    ['a range of ids on one node', `vmids: 9000-9009\n${IMAGE}`],
    ['an empty drive next to an image', 'disks: { scsi0: { image: debian, storage: tank }, ide0: { iso: false } }'],
  ])('accept %s', (_, lines) => {
    expect(problemsOf(templateStack(`node: a\n${lines}`))).toEqual([]);
  });

  it.each([
    [
      'a node and nodes',
      'node: a\nnodes: [a, b]',
      '7:5 error BAD_VALUE: "node" and "nodes" cannot be used together: name one node, or several with one template each.',
    ],
    [
      'a node twice',
      'nodes: [a, b, a]',
      '6:19 error BAD_VALUE: The node "a" is named twice, but each node can have one template of this name.',
    ],
    [
      'one id for several nodes',
      'nodes: [a, b, c]\nvmid: 9000',
      '7:11 error BAD_VALUE: The templates of 3 nodes cannot share one ID. | Write vmids: 9000-9002.',
    ],
    [
      'too few ids',
      'nodes: [a, b, c]\nvmids: 9000-9001',
      '7:12 error BAD_VALUE: "vmids" holds 2 IDs, but the template is on 3 nodes.',
    ],
    ['nodes that are not a list', 'nodes: a', '6:12 error BAD_VALUE: "nodes" must be a list; it is "a".'],
    ['no nodes', 'nodes: []', '6:12 error BAD_VALUE: "nodes" must be at least 1 elements'],
    [
      'no node at all',
      'memory: 1GiB',
      '5:3 error BAD_VALUE: "node" is missing. | Write node: … here or under "defaults".',
    ],
  ])('say where templates can be: %s', (_, lines, expected) => {
    expect(problemsOf(templateStack(`${lines}\n${IMAGE}`))).toEqual([expect.stringContaining(expected)]);
  });

  it('refuse a name that no VM can have', () => {
    expect(problemsOf('version: 1\nstack: s\ntemplates:\n  talos_base: {}\n')).toEqual([
      '4:3 error BAD_VALUE: "talos_base" cannot name a template: a VM name is a DNS name: letters, digits, inner hyphens, dots between labels.',
    ]);
    expect(problemsOf(`version: 1\nstack: s\ntemplates:\n  ${'a'.repeat(64)}: {}\n`)).toEqual([
      expect.stringContaining('cannot name a template: it is longer than 63 characters.'),
    ]);
    expect(problemsOf('version: 1\nstack: s\ntemplates: { a: b }\n')).toEqual([
      '3:17 error BAD_VALUE: The template "a" must be a map of fields; it is "b".',
    ]);
  });

  it('report problems under the address of the template', () => {
    const { diagnostics } = resolveText(templateStack('nodes: [a]\nmemory: 1\nfrom: { vm: base }'));
    expect(diagnostics.map(({ where }) => where?.address)).toEqual(['template.base["a"]', 'template.base["a"]']);
  });
});

describe('templates together with VMs', () => {
  const beside = (template: string, vm: string) =>
    templateStack(`node: a\n${template}\n${IMAGE}`, `vms:\n  web: { node: a, clone: { template: 9000 }, ${vm} }\n`);

  it('cannot share an id', () => {
    expect(problemsOf(beside('vmid: 9000', 'name: web, vmid: 9000'))).toEqual([
      '10:63 error BAD_VALUE: The ID 9000 is given to both template.base and vm.web. | Give each VM a different one, or give the group a range: vmids: 101-109.',
    ]);
  });

  it('cannot share a name', () => {
    expect(problemsOf(beside('vmid: 9000', 'name: Base'))).toEqual([
      expect.stringContaining('10:52 error BAD_VALUE: The name "base" is given to both template.base and vm.web.'),
    ]);
  });

  it('may have the id that is cloned', () => {
    expect(problemsOf(beside('vmid: 9000', 'name: web'))).toEqual([]);
  });

  it('cannot share a name in two spellings, but one template has its name on all its nodes', () => {
    const text = templateStack(`nodes: [a, b]\n${IMAGE}`, `  Base: { node: c, ${IMAGE} }\n`);
    expect(problemsOf(text)).toEqual([
      expect.stringContaining(
        '8:3 error BAD_VALUE: The name "base" is given to both template.base["a"] and template.Base.',
      ),
    ]);
  });

  it('may share a MAC address: no template runs', () => {
    const nics = 'nics: { net0: { bridge: vmbr0, mac: "BC:24:11:00:00:01" } }';
    expect(problemsOf(beside(`vmid: 9000\n${nics}`, `name: web, ${nics}`))).toEqual([]);
  });
});
