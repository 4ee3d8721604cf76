import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { writeIso } from './iso9660.ts';
import { readIso } from './testing/read-iso.ts';

const AT = new Date('2000-01-02T03:04:05Z');
const FILES = [
  { name: 'user-data', text: '#cloud-config\npackages: [qemu-guest-agent]\n' },
  { name: 'meta-data', text: 'instance-id: one\n' },
  { name: 'network-config', text: `# ${'long '.repeat(2000)}\nversion: 1\n` },
  { name: 'vendor-data', text: '' },
];
const IMAGE = writeIso({
  label: 'cidata',
  at: AT,
  files: FILES.map(({ name, text }) => ({ name, bytes: Buffer.from(text) })),
});
const BY_NAME = [...FILES].sort((a, b) => (a.name < b.name ? -1 : 1));

describe('a volume', () => {
  it.each(['rock-ridge', 'joliet'] as const)('has its files under their own names by %s', (names) => {
    const { label, sectors, files } = readIso(IMAGE, names);
    expect(label).toBe('cidata');
    expect(sectors * 2048).toBe(IMAGE.length);
    expect(files.map(({ name, bytes }) => ({ name, text: bytes.toString() }))).toEqual(BY_NAME);
  });

  it('has short names in capitals for readers that know neither extension', () => {
    expect(readIso(IMAGE, 'short').files.map(({ name }) => name)).toEqual([
      'META_DAT.;1',
      'NETWORK_.;1',
      'USER_DAT.;1',
      'VENDOR_D.;1',
    ]);
  });

  it('keeps short names distinct that would otherwise be equal', () => {
    const files = ['user-data.yaml', 'user_data.yaml', 'user.data.yml'].map((name) => ({ name, bytes: Buffer.of(1) }));
    expect(readIso(writeIso({ label: 'x', at: AT, files }), 'short').files.map(({ name }) => name)).toEqual([
      'USER_DA1.YAM;1',
      'USER_DAT.YAM;1',
      'USER_DAT.YML;1',
    ]);
  });

  it('carries the date it was given', () => {
    expect(Buffer.from(IMAGE.subarray(16 * 2048 + 813, 16 * 2048 + 829)).toString()).toBe('2000010203040500');
  });

  it('is the same, byte for byte, for the same files', () => {
    const again = writeIso({
      label: 'cidata',
      at: new Date(AT),
      files: FILES.map(({ name, text }) => ({ name, bytes: new TextEncoder().encode(text) })),
    });
    expect(Buffer.compare(again, IMAGE)).toBe(0);
  });

  it.each([
    ['a folder', 'a/b'],
    ['a hidden file', '.hidden'],
    ['an empty name', ''],
    ['a name that is too long', 'x'.repeat(65)],
  ])('refuses %s', (_what, name) => {
    expect(() => writeIso({ label: 'cidata', at: AT, files: [{ name, bytes: Buffer.of() }] })).toThrow('name');
  });

  it('refuses two files of one name', () => {
    const file = { name: 'a', bytes: Buffer.of() };
    expect(() => writeIso({ label: 'cidata', at: AT, files: [file, file] })).toThrow('unique');
  });
});

type Run = (image: string, name: string, folder: string) => Promise<string>;
const run = promisify(execFile);

/** Programs that read such volumes, each by the names it prefers. */
const TOOLS: Readonly<Record<string, { readonly probe: readonly string[]; readonly read: Run }>> = {
  'isoinfo, Rock Ridge': {
    probe: ['isoinfo', '-version'],
    read: async (image, name) => (await run('isoinfo', ['-R', '-i', image, '-x', `/${name}`])).stdout,
  },
  'isoinfo, Joliet': {
    probe: ['isoinfo', '-version'],
    read: async (image, name) => (await run('isoinfo', ['-J', '-i', image, '-x', `/${name}`])).stdout,
  },
  xorriso: {
    probe: ['xorriso', '-version'],
    read: async (image, name, folder) => {
      const target = join(folder, name);
      await run('xorriso', ['-osirrox', 'on', '-indev', image, '-extract', `/${name}`, target]);
      return readFile(target, 'utf8');
    },
  },
  bsdtar: {
    probe: ['bsdtar', '--version'],
    read: async (image, name) => (await run('bsdtar', ['-xOf', image, name])).stdout,
  },
};

describe('read back by other programs', () => {
  it.each(Object.keys(TOOLS))('a volume returns the files that were put into it: %s', async (title) => {
    const tool = TOOLS[title];
    if (!tool) throw new Error('no such tool');
    const [program = '', ...args] = tool.probe;
    const isThere = await run(program, args).then(
      () => true,
      (error: { code?: unknown }) => error.code !== 'ENOENT',
    );
    if (!isThere) {
      process.stderr.write(`not read back by ${title}: ${program} is not installed\n`);
      return;
    }
    const folder = await mkdtemp(join(tmpdir(), 'proxwright-iso-'));
    try {
      const image = join(folder, 'seed.iso');
      await writeFile(image, IMAGE);
      for (const { name, text } of FILES) expect(await tool.read(image, name, folder)).toBe(text);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
