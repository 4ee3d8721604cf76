/** What replaces uploaded snippets: each gets a name of its own, and no file that exists is replaced. */
import { describe, expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

const uploaded = (name: string, file: string, data = `"#cloud-config\\nhostname: ${name}\\n"`) =>
  `resource "proxmox_virtual_environment_file" "${name}" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"
  source_raw {
    data      = ${data}
    file_name = "${file}"
  }
}
resource "proxmox_virtual_environment_vm" "${name}" {
  node_name = "pve1"
  initialization {
    user_data_file_id = proxmox_virtual_environment_file.${name}.id
  }
}
`;

function converted(text: string, taken: readonly string[] = []) {
  const { changed } = convertFiles(new Map([['lab/main.tf', text]]), undefined, taken);
  const uses = [...(changed.get('lab/main.tf') ?? '').matchAll(/user_data = \{ (.*?) \}/g)].map(([, use]) => use);
  const files = [...changed].filter(([path]) => path.includes('cloud-init'));
  return { uses, files, text: changed.get('lab/main.tf') ?? '' };
}

describe('the file of a snippet', () => {
  const used = (name: string) => `file = "\${path.module}/cloud-init/${name}"`;

  it('has its name, unless another snippet or a file has it', () => {
    const text = uploaded('a', 'user.yaml') + uploaded('b', 'user.yaml') + uploaded('c', 'user.yaml');
    const { uses, files } = converted(text, [
      'lab/cloud-init/b.yaml',
      'cloud-init/user.yaml',
      'other/cloud-init/c.yaml',
    ]);
    expect(uses).toEqual([used('user.yaml'), used('b-2.yaml'), used('c.yaml')]);
    expect(files).toEqual([
      ['lab/cloud-init/user.yaml', '#cloud-config\nhostname: a\n'],
      ['lab/cloud-init/b-2.yaml', '#cloud-config\nhostname: b\n'],
      ['lab/cloud-init/c.yaml', '#cloud-config\nhostname: c\n'],
    ]);
  });

  it.each(['..', '.', '../../etc/passwd', '.hidden', 'a/b'])('is in its directory, and can be seen: %s', (name) => {
    expect(converted(uploaded('a', name)).uses).toEqual([used('a.yaml')]);
  });
});

describe('the local value of a snippet', () => {
  it('has a name of its own', () => {
    const data = `"#cloud-config\\nhostname: \${terraform.workspace}\\n"`;
    const text = `${uploaded('a-b', 'x', data)}${uploaded('a_b', 'y', data)}locals {\n  a_b_data_snippet = 1\n}\n`;
    const { uses } = converted(text);
    expect(uses).toEqual(['text = local.a_b_data', 'text = local.a_b_data_snippet3']);
  });
});

describe('the blocks that take over', () => {
  it('are added to those of an earlier conversion', () => {
    const before = '# Mine.\nmoved {\n  from = proxmox_vm_qemu.a\n  to   = proxwright_vm.a\n}\n';
    const vm = 'resource "proxmox_vm_qemu" "b" {\n  name        = "b"\n  target_node = "pve1"\n}\n';
    const { changed } = convertFiles(
      new Map([
        ['main.tf', vm],
        ['proxwright-moved.tf', before],
      ]),
    );
    const text = changed.get('proxwright-moved.tf') ?? '';
    expect(text.startsWith(before)).toBe(true);
    expect(text.match(/^moved \{$/gm)).toHaveLength(2);
  });
});
