import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StackOptions } from '../../command.ts';
import { testDeps } from '../../testing/deps.ts';
import { runValidate } from './validate.ts';

const VMS = `version: 1\nstack: lab\nvms: { web: { count: 2, name: "web-\${number}", node: a, clone: { template: base } } }\n`;
const TEMPLATES = 'templates: { base: { nodes: [a, b], disks: { scsi0: { image: debian, storage: tank } } } }\n';
const IMAGES = 'images: { debian: { path: ./d.qcow2, content: import, storage: local, nodes: [a] } }\n';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-validate-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function validate(text: string, json = false, options: StackOptions = {}): Promise<string[]> {
  writeFileSync(join(directory, 'stack.yaml'), text);
  const said: string[] = [];
  const { deps } = testDeps({ directory, json });
  const keep = (line: string) => void said.push(line);
  expect(
    await runValidate(options, {
      ...deps,
      terminal: {
        ...deps.terminal,
        log: (_, line) => keep(line),
        success: keep,
        result: keep,
        data: (value) => keep(JSON.stringify(value)),
      },
    }),
  ).toBe(0);
  return said;
}

describe('validate', () => {
  it.each([
    ['VMs', VMS, '2 VMs.'],
    ['images', VMS + IMAGES, '2 VMs and 1 image.'],
    ['templates, one for each node', VMS + TEMPLATES + IMAGES, '2 VMs, 2 templates and 1 image.'],
  ])('counts %s', async (_, text, expected) => {
    expect(await validate(text)).toEqual([`stack.yaml is valid: stack lab with ${expected}`]);
  });

  it('lists them as JSON', async () => {
    const [line = ''] = await validate(VMS + TEMPLATES + IMAGES, true);
    expect(JSON.parse(line)).toEqual({
      schema: 1,
      file: 'stack.yaml',
      variableFiles: [],
      valid: true,
      vms: [
        { address: 'vm.web[1]', name: 'web-1' },
        { address: 'vm.web[2]', name: 'web-2' },
      ],
      templates: [
        { address: 'template.base["a"]', name: 'base' },
        { address: 'template.base["b"]', name: 'base' },
      ],
      images: [{ address: 'image.debian', file: 'd.qcow2' }],
      diagnostics: [],
    });
  });

  describe('with variables.yaml next to the stack file', () => {
    const COUNTED = VMS.replace('count: 2', `count: "\${var.n}"`).concat(
      'variables: { n: { type: integer, default: 1 } }\n',
    );
    const file = (name: string, text: string) => writeFileSync(join(directory, name), text);

    it('reads it without an option and says so', async () => {
      file('variables.yaml', 'n: 3');
      expect(await validate(COUNTED)).toEqual([
        'Variables from variables.yaml.',
        'stack.yaml is valid: stack lab with 3 VMs.',
      ]);
    });

    it('lets --var-file override it, and --var override both', async () => {
      file('variables.yaml', 'n: 3');
      file('more.yaml', 'n: 4');
      const varFile = [join(directory, 'more.yaml')];
      const said = await validate(COUNTED, false, { varFile });
      expect(said).toEqual([`Variables from variables.yaml, ${varFile[0]}.`, expect.stringContaining('4 VMs')]);
      expect((await validate(COUNTED, false, { varFile, var: ['n=5'] })).join()).toContain('5 VMs');
    });

    it('reads it once if --var-file names it too', async () => {
      file('variables.yaml', 'n: 3');
      expect((await validate(COUNTED, false, { varFile: ['./variables.yaml'] }))[0]).toBe(
        'Variables from ./variables.yaml.',
      );
    });
  });
});
