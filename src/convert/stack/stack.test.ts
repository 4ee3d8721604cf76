// biome-ignore-all lint/suspicious/noTemplateCurlyInString: interpolations of HCL are written like this
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fieldsOf } from '../../cli/commands/convert.ts';
import { loadStack } from '../../spec/load.ts';
import { resolveStack } from '../../spec/resolve.ts';
import { readExpressionText } from '../hcl/read.ts';
import { readState } from '../state.ts';
import { convertFiles } from '../terraform/convert.ts';
import { evaluate, NotKnown } from './evaluate.ts';
import { stackOf } from './stack.ts';
import type { Value } from './value.ts';

const compute = (text: string, names: Readonly<Record<string, Value>> = {}): Value =>
  evaluate(readExpressionText(text, 'main.tf'), (name) => {
    const value = names[name];
    return value === undefined ? undefined : { value, used: 0 };
  });

describe('computing expressions', () => {
  it.each<[string, Value]>([
    ['1 + 2 * 3', 7],
    ['"a-${1 + 1}"', 'a-2'],
    ['[for k, v in { b = 2, a = 1 } : "${k}${v}"]', ['a1', 'b2']],
    ['{ for v in ["x", "y"] : v => upper(v) if v != "y" }', { x: 'X' }],
    ['var.list[*].id', [1, 2]],
    ['var.list[1].id == 2 && !false', true],
    ['try(var.list[5], "none")', 'none'],
    ['can(var.list[5])', false],
    ['merge({ a = 1 }, { b = 2 })', { a: 1, b: 2 }],
    ['format("web-%02d", 7)', 'web-07'],
    ['cidrhost("10.0.20.0/24", 11)', '10.0.20.11'],
    ['regex("ip=([^,]+)", "ip=10.0.0.1,gw=1")[0]', '10.0.0.1'],
    ['concat([1], range(2, 4))', [1, 2, 3]],
    ['one([])', null],
    ['-1 < 0 ? "yes" : "no"', 'yes'],
    ['max(var.numbers...)', 9],
  ])('gives %s', (text, expected) => {
    expect(compute(text, { var: { list: [{ id: 1 }, { id: 2 }], numbers: [3, 9] } })).toEqual(expected);
  });

  it.each(['timestamp()', 'aws_x.y.id', 'range(1000000000)', '"%{ if true }x%{ endif }"', '"a" * 2'])(
    'does not guess %s',
    (text) => {
      expect(() => compute(text)).toThrow(NotKnown);
    },
  );
});

const MAIN = `
variable "nodes" { default = ["pve1", "pve2"] }
locals { base = 500 }

resource "proxmox_virtual_environment_download_file" "noble" {
  node_name    = "pve1"
  datastore_id = "local"
  content_type = "import"
  url          = "https://example.org/noble.qcow2"
}

resource "proxmox_virtual_environment_vm" "web" {
  for_each  = toset(var.nodes)
  name      = "web-\${each.key}"
  node_name = each.value
  memory { dedicated = 2048 }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.noble.id
  }
  network_device { bridge = "vmbr0" }
  initialization {
    ip_config {
      ipv4 { address = "dhcp" }
    }
    user_data_file_id = proxmox_virtual_environment_file.user.id
  }
}

resource "proxmox_virtual_environment_file" "user" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"
  source_raw {
    data      = "#cloud-config\\n"
    file_name = "user.yaml"
  }
}

module "db" {
  source = "./db"
  suffix = random_id.db.hex
}
`;

const DB = `
variable "suffix" {}
resource "proxmox_vm_qemu" "db" {
  count       = 2
  name        = "db-\${var.suffix}-\${count.index}"
  target_node = "pve1"
  clone       = "debian"
  balloon     = 0
}
`;

const STATE = {
  version: 4,
  resources: [
    { mode: 'managed', type: 'random_id', name: 'db', instances: [{ attributes: { hex: 'beef' } }] },
    {
      module: 'module.db',
      mode: 'managed',
      type: 'proxmox_vm_qemu',
      name: 'db',
      instances: [
        { index_key: 0, attributes: { vmid: 700, id: 'pve1/qemu/700' } },
        { index_key: 1, attributes: { vmid: 701, id: 'pve1/qemu/701' } },
      ],
    },
  ],
};

function stack(state?: unknown) {
  const files = new Map([
    ['main.tf', MAIN],
    ['db/main.tf', DB],
    ['terraform.tfvars', 'nodes = ["pve2", "pve3"]\n'],
  ]);
  const { changed } = convertFiles(files);
  const known = state === undefined ? undefined : readState(JSON.stringify(state));
  return stackOf({ files: new Map([...files, ...changed]), name: 'lab', fieldsOf, ...(known && { state: known }) });
}

describe('a stack of a configuration', () => {
  it('has every instance with its values, and is valid', () => {
    const { text, findings } = stack(STATE);
    expect(findings).toEqual([]);
    const { vms, images } = parse(text) as { vms: Record<string, unknown>; images: Record<string, unknown> };
    expect(Object.keys(vms)).toEqual(['web-pve2', 'web-pve3', 'db-db-0', 'db-db-1']);
    expect(vms['web-pve2']).toEqual({
      name: 'web-pve2',
      node: 'pve2',
      memory: '2GiB',
      disks: { scsi0: { storage: 'local-lvm', image: 'noble', size: '8GiB' } },
      nics: { net0: { bridge: 'vmbr0', ipv4: 'dhcp' } },
      guest: 'cloud-init',
      cloud_init: { user_data: { text: '#cloud-config\n' }, storage: 'local' },
    });
    expect(vms['db-db-1']).toEqual({
      name: 'db-beef-1',
      node: 'pve1',
      vmid: 701,
      clone: { template: 'debian' },
      balloon: false,
    });
    expect(images).toMatchObject({ noble: { nodes: ['pve1'], storage: 'local', content: 'import' } });
    const { stack: resolved, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'), { environment: {} });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(resolved?.vms.length).toBe(4);
  });

  it('leaves out templates that exist, and names images of disks and drives', () => {
    const files = new Map([
      [
        'main.tf',
        `resource "proxmox_virtual_environment_download_file" "cd" {
  for_each     = { "24.04" = "https://images.example.org/a.iso" }
  content_type = "iso"
  datastore_id = "local"
  node_name    = "pve1"
  url          = each.value
}
resource "proxmox_virtual_environment_vm" "base" {
  name      = "base"
  node_name = "pve1"
  template  = true
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = "local:import/a.qcow2"
    size         = 8
  }
}
resource "proxmox_virtual_environment_vm" "web" {
  name      = "web"
  node_name = "pve1"
  clone {
    vm_id = proxmox_virtual_environment_vm.base.vm_id
  }
  cdrom {
    interface = "ide2"
    file_id   = proxmox_virtual_environment_download_file.cd["24.04"].id
  }
}
`,
      ],
    ]);
    const resource = (name: string, vmid: number) => ({
      mode: 'managed',
      type: 'proxmox_virtual_environment_vm',
      name,
      instances: [{ attributes: { vm_id: vmid, node_name: 'pve1', id: String(vmid) } }],
    });
    const state = readState(JSON.stringify({ version: 4, resources: [resource('base', 571), resource('web', 572)] }));
    const { changed } = convertFiles(files, state);
    const { text, findings } = stackOf({
      files: new Map([...files, ...changed]),
      name: 'lab',
      fieldsOf,
      ...(state && { state }),
    });
    expect(findings).toMatchObject([{ kind: 'dropped', subject: 'proxwright_template.base' }]);
    expect(parse(text)).toMatchObject({
      images: { 'cd-24-04': { content: 'iso' } },
      vms: { web: { vmid: 572, clone: { template: expect.anything() }, disks: { ide2: { image: 'cd-24-04' } } } },
    });
    expect(text).toContain('571');
    expect(text).not.toContain('templates:');
    const { diagnostics } = resolveStack(loadStack(text, 'stack.yaml'), { environment: {} });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it('reports what only a state knows', () => {
    const { findings, text } = stack();
    expect(findings).toMatchObject([
      { kind: 'left', file: 'main.tf', what: 'suffix' },
      { kind: 'left', file: 'db/main.tf', what: 'name' },
      { kind: 'left', file: 'db/main.tf', what: 'name' },
    ]);
    expect(text).not.toContain('beef');
  });

  it('reports a name that depends on the workspace, and does not take the default one', () => {
    const main = `
resource "proxwright_vm" "web" {
  name   = "web-\${terraform.workspace}"
  node   = "pve1"
  memory = "2GiB"
}
`;
    const { findings, text } = stackOf({ files: new Map([['main.tf', main]]), name: 'lab', fieldsOf });
    expect(findings).toMatchObject([{ kind: 'left', file: 'main.tf', what: 'name' }]);
    expect(text).not.toContain('web-default');
  });

  it('reads what terraform show -json prints', () => {
    const resource = { mode: 'data', type: 'x', name: 'y', index: 'a', values: { id: 1 } };
    const child = { address: 'module.m', resources: [resource] };
    expect(readState(JSON.stringify({ values: { root_module: { child_modules: [child] } } }))).toEqual([
      { module: 'module.m', address: 'data.x.y', index: 'a', values: { id: 1 } },
    ]);
    expect(readState('nonsense')).toBeUndefined();
    expect(readState('{}')).toBeUndefined();
  });
});
