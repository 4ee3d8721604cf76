import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testDeps } from '../testing/deps.ts';
import { type ConvertOptions, runConvert } from './convert.ts';

const WHOLE =
  'resource "proxmox_virtual_environment_vm" "web" {\n  name      = "web"\n  node_name = "pve1"\n  migrate   = true\n}\n';
const PARTLY = WHOLE.replace('  migrate', '  unheard_of = 1\n  migrate');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-convert-'));
  mkdirSync(join(directory, 'infra', '.terraform'), { recursive: true });
  writeFileSync(join(directory, 'infra', '.terraform', 'module.tf'), 'not HCL at all {');
  writeFileSync(join(directory, 'infra', 'notes.txt'), 'kept');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function convert(text: string, options: ConvertOptions): Promise<{ code: number; said: unknown[] }> {
  writeFileSync(join(directory, 'infra', 'main.tf'), text);
  const { deps } = testDeps({ directory, json: true });
  const said: unknown[] = [];
  const terminal = { ...deps.terminal, data: (value: unknown) => void said.push(value) };
  return { code: await runConvert('infra', options, { ...deps, terminal }), said };
}

const read = (...path: string[]) => readFileSync(join(directory, ...path), 'utf8');

describe('convert', () => {
  it('writes the tree to a new directory, and leaves the old one alone', async () => {
    expect((await convert(WHOLE, { out: 'new' })).code).toBe(0);
    expect(read('new', 'main.tf')).toContain('resource "proxwright_vm" "web"');
    expect(read('new', 'proxwright-moved.tf')).toContain('from = proxmox_virtual_environment_vm.web');
    expect(read('new', 'notes.txt')).toBe('kept');
    expect(existsSync(join(directory, 'new', '.terraform'))).toBe(false);
    expect(read('infra', 'main.tf')).toBe(WHOLE);
  });

  it.each(['new', 'deep/new'])('writes to a directory inside of the tree: %s', async (name) => {
    mkdirSync(join(directory, 'infra', 'deep'));
    writeFileSync(join(directory, 'infra', 'deep', 'kept.txt'), 'kept');
    expect((await convert(WHOLE, { out: `infra/${name}` })).code).toBe(0);
    expect(read('infra', name, 'main.tf')).toContain('resource "proxwright_vm" "web"');
    expect(read('infra', name, 'deep', 'kept.txt')).toBe('kept');
    expect(existsSync(join(directory, 'infra', name, name))).toBe(false);
    expect(existsSync(join(directory, 'infra', name, '.terraform'))).toBe(false);
    expect(read('infra', 'main.tf')).toBe(WHOLE);
  });

  it('changes files in place, keeps the old ones, and refuses a second time', async () => {
    expect((await convert(WHOLE, { inPlace: true })).code).toBe(0);
    expect(read('infra', 'main.tf')).toContain('proxwright_vm');
    expect(read('infra', '.before-convert', 'main.tf')).toBe(WHOLE);
    await expect(convert(WHOLE, { inPlace: true })).rejects.toThrow(/overwrites nothing/);
  });

  it('writes nothing without a target, and nothing over an existing directory', async () => {
    expect((await convert(WHOLE, {})).code).toBe(0);
    expect(read('infra', 'main.tf')).toBe(WHOLE);
    mkdirSync(join(directory, 'there'));
    writeFileSync(join(directory, 'there', 'x'), '');
    await expect(convert(WHOLE, { out: 'there' })).rejects.toThrow(/overwrites nothing/);
    await expect(convert(WHOLE, { out: 'a', inPlace: true })).rejects.toThrow(/cannot be used together/);
  });

  it('exits with 2 when something is left, and says where', async () => {
    const { code, said } = await convert(PARTLY, { out: 'new' });
    expect(code).toBe(2);
    expect(said).toEqual([
      expect.objectContaining({
        findings: expect.arrayContaining([
          expect.objectContaining({ kind: 'left', file: 'main.tf', line: 4, what: 'unheard_of' }),
        ]),
      }),
    ]);
    expect(read('new', 'main.tf')).toMatch(/# Not translated: .*\n {2}# unheard_of = 1\n/);
  });

  it('lists only the traps', async () => {
    const { code, said } = await convert(WHOLE.replace('true', 'false'), { lintOnly: true });
    expect(code).toBe(2);
    expect(said).toEqual([
      { schema: 1, traps: [expect.objectContaining({ rule: 'node-change', line: 3 })], skipped: [] },
    ]);
    expect((await convert(WHOLE, { lintOnly: true })).code).toBe(0);
  });

  it('reads a file through a link, and never writes through it', async () => {
    const shared = 'terraform {\n  required_providers {\n    proxmox = { source = "bpg/proxmox" }\n  }\n}\n';
    writeFileSync(join(directory, 'shared.tf'), shared);
    symlinkSync('../shared.tf', join(directory, 'infra', 'providers.tf'));
    expect((await convert(WHOLE, { out: 'new' })).code).toBe(0);
    expect(read('new', 'providers.tf')).toContain('proxwright.dev/proxwright/proxwright');
    expect((await convert(WHOLE, { inPlace: true })).code).toBe(0);
    expect(read('infra', 'providers.tf')).toContain('proxwright.dev/proxwright/proxwright');
    expect(lstatSync(join(directory, 'infra', '.before-convert', 'providers.tf')).isSymbolicLink()).toBe(true);
    expect(read('shared.tf')).toBe(shared);
  });

  it.each([
    ['new', { out: 'new' }],
    ['lint', { lintOnly: true }],
    ['stack', { format: 'stack' }],
  ])('names what it does not read, and exits with 2: %s', async (_, options) => {
    writeFileSync(join(directory, 'infra', 'more.tf.json'), '{}');
    symlinkSync('/nowhere/lost.tf', join(directory, 'infra', 'lost.tf'));
    mkdirSync(join(directory, 'modules'));
    symlinkSync('../modules', join(directory, 'infra', 'modules'));
    symlinkSync('.', join(directory, 'infra', 'itself'));
    const { code, said } = await convert(WHOLE, options);
    expect(code).toBe(2);
    const { skipped } = said[0] as { skipped: { path: string }[] };
    expect(skipped.map(({ path }) => path).sort()).toEqual(['itself', 'lost.tf', 'modules', 'more.tf.json']);
  });

  it.each(['proxwright-moved.tf', 'cloud-init'])('puts all files back when it cannot write %s', async (name) => {
    // A directory where convert adds a file, or a file where it adds a directory.
    const place = join(directory, 'infra', name);
    if (name === 'cloud-init') writeFileSync(place, '');
    else mkdirSync(place);
    const snippet = `resource "proxmox_virtual_environment_file" "user" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"
  source_raw {
    file_name = "user.yaml"
    data      = "#cloud-config"
  }
}
`;
    const use = '  initialization {\n    user_data_file_id = proxmox_virtual_environment_file.user.id\n  }\n}\n';
    const text = `${snippet}${WHOLE.replace(/}\n$/, use)}`;
    await expect(convert(text, { inPlace: true })).rejects.toMatchObject({ code: 'UNWRITABLE_FILE' });
    expect(read('infra', 'main.tf')).toBe(text);
    expect(readdirSync(join(directory, 'infra')).sort()).toEqual(['.terraform', 'main.tf', 'notes.txt', name].sort());
  });

  it('leaves no half of a new directory behind', async () => {
    mkdirSync(join(directory, 'infra', 'proxwright-moved.tf'));
    await expect(convert(WHOLE, { out: 'new' })).rejects.toMatchObject({ code: 'UNWRITABLE_FILE' });
    expect(readdirSync(directory)).not.toContain('new');
  });

  it('refuses a directory without a configuration, and a file that is not text', async () => {
    const { deps } = testDeps({ directory });
    mkdirSync(join(directory, 'empty'));
    await expect(runConvert('empty', {}, deps)).rejects.toThrow(/no Terraform files/);
    writeFileSync(join(directory, 'empty', 'main.tf.json'), '{}');
    await expect(runConvert('empty', {}, deps)).rejects.toThrow(/JSON syntax only/);
    await expect(runConvert('nowhere', {}, deps)).rejects.toThrow(/no such file/);
    writeFileSync(join(directory, 'infra', 'main.tf'), Buffer.from([0x61, 0xff, 0xfe]));
    await expect(runConvert('infra', {}, deps)).rejects.toThrow(/UTF-8/);
  });
});
