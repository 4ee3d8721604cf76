/** What only the state knows goes into the converted configuration: ids of templates, and whether a VM is one. */
import { describe, expect, it } from 'vitest';
import { convertFiles, readState } from '../../src/convert/index.ts';

const TYPE = 'proxmox_virtual_environment_vm';

interface Known {
  readonly module?: string;
  readonly key?: string | number;
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A state file. */
function stateOf(...known: readonly Known[]) {
  const resources = known.map(({ module, key, name, values }) => ({
    ...(module !== undefined && { module }),
    mode: 'managed',
    type: TYPE,
    name,
    instances: [{ ...(key !== undefined && { index_key: key }), attributes: values }],
  }));
  return readState(JSON.stringify({ version: 4, resources }));
}

const template = (lines: string) => `resource "${TYPE}" "base" {\n  name = "base"\n${lines}\n}\n`;

describe('a conversion with a state', () => {
  it('imports every template of a loop by its id', () => {
    const text = template('  for_each  = toset(["a", "b"])\n  node_name = "pve1"\n  template  = true');
    const state = stateOf(
      { name: 'base', key: 'a', values: { vm_id: 100, node_name: 'pve1', template: true } },
      { name: 'base', key: 'b', values: { vm_id: 101, node_name: 'pve2', template: true } },
    );
    const { changed, findings } = convertFiles(new Map([['main.tf', text]]), state);
    expect(findings.map(({ what }) => what)).toEqual(['template']);
    expect(changed.get('proxwright-moved.tf')).toContain(
      'import {\n  to = proxwright_template.base["a"]\n  id = "pve1/100"\n}\n\nimport {\n  to = proxwright_template.base["b"]\n  id = "pve2/101"\n}\n',
    );
  });

  it('imports templates of modules in the root, for each use of the module', () => {
    const files = new Map([
      ['main.tf', 'module "images" {\n  for_each = { x = 1 }\n  source = "./modules/outer"\n}\n'],
      ['modules/outer/main.tf', 'module "inner" {\n  source = "../inner"\n}\n'],
      ['modules/inner/main.tf', template('  node_name = var.node\n  template  = true')],
    ]);
    const module = 'module.images["x"].module.inner';
    const state = stateOf({ module, name: 'base', values: { id: '110', node_name: 'pve1', template: true } });
    const { changed } = convertFiles(files, state);
    expect(changed.get('proxwright-moved.tf')).toContain(
      `import {\n  to = ${module}.proxwright_template.base\n  id = "pve1/110"\n}\n`,
    );
    expect(changed.get('modules/inner/proxwright-moved.tf')).toContain(`removed {\n  from = ${TYPE}.base\n`);
    expect(changed.get('modules/inner/proxwright-moved.tf')).not.toContain('import {');
  });

  it.each([true, false])('knows whether an expression makes a template of a VM: %s', (isTemplate) => {
    const text = template('  node_name = "pve1"\n  vm_id     = 100\n  template  = var.is_template');
    const values = { vm_id: 100, node_name: 'pve1', template: isTemplate };
    const { changed, findings } = convertFiles(new Map([['main.tf', text]]), stateOf({ name: 'base', values }));
    const type = isTemplate ? 'proxwright_template' : 'proxwright_vm';
    expect(changed.get('main.tf')).toBe(
      `resource "${type}" "base" {\n  name = "base"\n  node = "pve1"\n  vmid = 100\n}\n`,
    );
    expect(findings.map(({ what }) => what)).toEqual(isTemplate ? ['template'] : []);
  });

  it('says which resources the state does not have', () => {
    const text = template('  node_name = "pve1"');
    const { findings } = convertFiles(new Map([['main.tf', text]]), stateOf());
    expect(findings).toMatchObject([{ kind: 'note', line: 1, subject: `${TYPE}.base`, what: 'state' }]);
  });

  it('leaves an import to you if several directories use the module, or if there is no state', () => {
    const disk = '  disk {\n    interface   = "scsi0"\n    import_from = "local:import/a.qcow2"\n  }';
    const own = template(`  node_name = var.node\n  template  = true\n${disk}`);
    const call = 'module "base" {\n  source = "../module"\n}\n';
    const files = new Map([
      ['one/main.tf', call],
      ['two/main.tf', call],
      ['module/main.tf', own],
    ]);
    const state = stateOf({ module: 'module.base', name: 'base', values: { vm_id: 1, node_name: 'pve1' } });
    expect(convertFiles(files, state).findings).toMatchObject([{ kind: 'review', what: 'template' }]);
    expect(convertFiles(new Map([['main.tf', own]])).findings).toMatchObject([
      { kind: 'review', what: 'template', why: expect.stringContaining('--state') },
    ]);
  });

  it.each([
    ['disk {\n    interface = "scsi0"\n  }', 'import_from = proxwright_image.NAME.id'],
    ['clone {\n    vm_id = 9000\n  }', undefined],
    ['disk {\n    interface = "scsi0"\n    file_id   = "local:import/a.qcow2"\n  }', undefined],
  ])('warns of a template whose system comes from nowhere: %s', (body, nearest) => {
    const text = template(`  node_name = "pve1"\n  vm_id     = 100\n  template  = true\n  ${body}`);
    const { findings, changed } = convertFiles(new Map([['main.tf', text]]));
    expect(findings).toMatchObject(
      nearest === undefined
        ? []
        : [{ kind: 'review', line: 1, what: 'template', why: expect.stringContaining(nearest) }],
    );
    expect(changed.get('main.tf')).not.toContain('clone');
  });

  it.each([
    ['["pve2"]', {}, 'node = "pve2"'],
    ['["pve1", "pve2"]', { current_node: 'pve2' }, 'node = "pve2"'],
    ['["pve1", "pve2"]', {}, '# target_nodes = ["pve1", "pve2"]'],
  ])('takes the node of a VM that may be on %s', (nodes, values, expected) => {
    const text = `resource "proxmox_vm_qemu" "a" {\n  target_nodes = ${nodes}\n}\n`;
    const known = { mode: 'managed', type: 'proxmox_vm_qemu', name: 'a', instances: [{ attributes: values }] };
    const state = readState(JSON.stringify({ resources: [known] }));
    expect(convertFiles(new Map([['main.tf', text]]), state).changed.get('main.tf')).toContain(expected);
  });
});
