/** Archives and hashes, without a host: what is the same must stay the same, to the byte. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNpmPackage, readZip } from '../../../tools/provider/archive-read.ts';
import { fetchDownload } from '../../../tools/provider/downloads.ts';
import { packProvider } from '../../../tools/provider/pack-provider.ts';
import { type PackageFile, packageHash, sha256 } from '../../../tools/provider/package-files.ts';
import { ADDRESS, packageVersion } from '../../../tools/provider/platforms.ts';
import { writeZip } from '../../../tools/provider/zip-write.ts';

const SCRIPT = '#!/usr/bin/env node\nprocess.exit(1);\n';
const version = packageVersion();
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'proxwright-pack-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const file = (name: string, text: string, isExecutable = false): PackageFile => ({
  name,
  isExecutable,
  bytes: Buffer.from(text),
});

describe('a zip', () => {
  const files = [file('b/ä.txt', 'second'), file('a', 'first'.repeat(1000), true), file('empty', '')];

  it('does not depend on the order of its files, nor on the day', () => {
    expect(sha256(writeZip([...files].reverse()))).toBe(sha256(writeZip(files)));
    expect(sha256(writeZip(files))).not.toBe(sha256(writeZip(files.slice(1))));
  });

  it('gives back every file', () => {
    const entries = [...readZip(writeZip(files))].map(([name, read]) => [name, read().toString()]);
    expect(entries).toEqual([
      ['a', 'first'.repeat(1000)],
      ['b/ä.txt', 'second'],
      ['empty', ''],
    ]);
  });

  it.runIf(has('unzip'))('is read by others, who give programs their execute bit', async () => {
    await writeFile(join(root, 'some.zip'), writeZip(files));
    execFileSync('unzip', ['-q', join(root, 'some.zip'), '-d', join(root, 'some')]);
    expect((await stat(join(root, 'some', 'a'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(root, 'some', 'b', 'ä.txt'))).mode & 0o777).toBe(0o644);
    expect(await readFile(join(root, 'some', 'b', 'ä.txt'), 'utf8')).toBe('second');
  });
});

describe('the hash of a package', () => {
  it('is of names and contents, not of modes and order', () => {
    const hash = packageHash([file('a', 'one'), file('b', 'two')]);
    expect(packageHash([file('b', 'two', true), file('a', 'one', true)])).toBe(hash);
    expect(packageHash([file('a', 'one'), file('b', 'three')])).not.toBe(hash);
    expect(packageHash([file('a', 'one'), file('c', 'two')])).not.toBe(hash);
  });
});

describe('the script form', () => {
  const pack = (name: string, script = SCRIPT) =>
    packProvider({
      form: 'script',
      platforms: ['linux_amd64', 'darwin_arm64', 'windows_amd64'],
      directory: join(root, name),
      isUnpackedToo: true,
      script,
    });

  it('is packed once for each platform that can run it, with one hash and the same bytes', async () => {
    const archives = await pack('first');
    expect(archives.map(({ platform }) => platform)).toEqual(['darwin_arm64', 'linux_amd64']);
    expect(new Set(archives.map(({ hash }) => hash)).size).toBe(1);
    expect(await pack('second')).toEqual(archives);
    expect(await contentsOf(join(root, 'second'))).toEqual(await contentsOf(join(root, 'first')));
    expect(await pack('third', `${SCRIPT}\n`)).not.toEqual(archives);
  });

  it('comes with its sums, a manifest that names the protocol, and the index of a mirror', async () => {
    const archives = await pack('release');
    const released = (name: string) => readFile(join(root, 'release', 'release', name));
    const prefix = `terraform-provider-proxwright_${version}`;
    const sums = (await released(`${prefix}_SHA256SUMS`)).toString().trimEnd().split('\n');
    expect(sums.map((line) => line.split('  ')[1])).toEqual([
      `${prefix}_darwin_arm64.zip`,
      `${prefix}_linux_amd64.zip`,
      `${prefix}_manifest.json`,
    ]);
    for (const line of sums) {
      const [sum, name = ''] = line.split('  ');
      expect(sum).toBe(sha256(await released(name)));
    }
    expect(JSON.parse((await released(`${prefix}_manifest.json`)).toString())).toEqual({
      version: 1,
      metadata: { protocol_versions: ['6.0'] },
    });
    const mirror = join(root, 'release', 'mirror', ADDRESS);
    expect(JSON.parse(await readFile(join(mirror, 'index.json'), 'utf8'))).toEqual({ versions: { [version]: {} } });
    const { archives: listed } = JSON.parse(await readFile(join(mirror, `${version}.json`), 'utf8'));
    expect(listed.linux_amd64).toEqual({ hashes: [archives[1]?.hash], url: `${prefix}_linux_amd64.zip` });
  });

  it('has a suffix that tells Node what it is, and can be executed', async () => {
    await pack('unpacked');
    const directory = join(root, 'unpacked', 'mirror-unpacked', ADDRESS, version, 'linux_amd64');
    expect(await readdir(directory)).toEqual([`terraform-provider-proxwright_v${version}.cjs`]);
    const path = join(directory, `terraform-provider-proxwright_v${version}.cjs`);
    expect((await stat(path)).mode & 0o111).toBe(0o111);
  });
});

describe('a download for a package', () => {
  it('is refused if its content has changed', async () => {
    const served = `data:application/octet-stream;base64,${Buffer.from('altered').toString('base64')}`;
    const expected = sha256(Buffer.from('genuine'));
    await expect(fetchDownload({ url: served, sha256: expected }, root)).rejects.toThrow(`not ${expected}`);
  });

  it('is repeated if the kept copy is damaged', async () => {
    const url = 'data:text/plain,genuine';
    const download = { url, sha256: sha256(Buffer.from('genuine')) };
    const directory = join(root, 'kept');
    await fetchDownload(download, directory);
    const [name = ''] = await readdir(directory);
    await writeFile(join(directory, name), 'damaged');
    expect((await fetchDownload(download, directory)).toString()).toBe('genuine');
    expect(await readFile(join(directory, name), 'utf8')).toBe('genuine');
  });
});

it.runIf(has('tar'))('reads an npm package file by file', async () => {
  const directory = await mkdtemp(join(root, 'npm-'));
  await writeFile(join(directory, 'one.txt'), 'x'.repeat(513));
  await writeFile(join(directory, 'two.txt'), '');
  const archive = execFileSync('tar', ['-c', '-C', directory, './one.txt', './two.txt']);
  const files = readNpmPackage(gzipSync(archive));
  expect([...files].map(([name, bytes]) => [name, bytes.length])).toEqual([
    ['one.txt', 513],
    ['two.txt', 0],
  ]);
});

async function contentsOf(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hashed = await Promise.all(
    paths.map(async (path) => [path.slice(directory.length), sha256(await readFile(path))] as const),
  );
  return Object.fromEntries(hashed.sort());
}

function has(program: string): boolean {
  try {
    execFileSync(program, [program === 'tar' ? '--version' : '-v'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`skipped: a test with ${program}, which is not on the PATH\n`);
    return false;
  }
}
