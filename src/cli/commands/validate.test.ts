import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testDeps } from '../testing/deps.ts';
import { runValidate } from './validate.ts';

const VMS = `version: 1\nstack: lab\nvms: { web: { count: 2, name: "web-\${number}", node: a, clone: { template: base } } }\n`;
const TEMPLATES = 'templates: { base: { nodes: [a, b], disks: { scsi0: { image: debian, storage: tank } } } }\n';
const IMAGES = 'images: { debian: { path: ./d.qcow2, content: import, storage: local, nodes: [a] } }\n';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-validate-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function validate(text: string, json = false): Promise<string[]> {
  writeFileSync(join(directory, 'stack.yaml'), text);
  const said: string[] = [];
  const { deps } = testDeps({ directory, json });
  const keep = (line: string) => void said.push(line);
  expect(await runValidate({}, { ...deps, terminal: { ...deps.terminal, success: keep, result: keep } })).toBe(0);
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
      file: 'stack.yaml',
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
});
