/**
 * A release as `npm run release` makes it, for this machine: made once, checked as that script checks it, and put into a container.
 * Without a builder of containers, what the Containerfile says is laid out by hand and run in a root of its own.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCommand, bundleLibrary, ROOT } from '../../tools/bundle/bundle.ts';
import { readNpmPackage, readZip } from '../../tools/provider/archive-read.ts';
import { ownPlatform, packageVersion } from '../../tools/provider/platforms.ts';
import { checkRelease, checkSums } from '../../tools/release/check-release.ts';
import { commandArchive } from '../../tools/release/command-package.ts';
import { makeRelease, type Release } from '../../tools/release/make-release.ts';

const version = packageVersion();
const platform = ownPlatform();
let directory: string;
let release: Release;
const within = (...names: string[]) => join(directory, ...names);

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'pw-release-'));
  release = await makeRelease({
    directory: within('release'),
    platforms: platform ? [platform] : [],
    hasProvider: false,
    say: () => {},
  });
  for (const { reason } of release.missing) process.stdout.write(`the executable is not tested: ${reason}\n`);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('a release', () => {
  it('has checksums of all files, and runs version, demo, init and validate from every package', async () => {
    expect(await checkRelease(within('release'), () => {})).toEqual([]);
    const listed = readFileSync(within('release', 'SHA256SUMS'), 'utf8').trim().split('\n');
    expect(listed.map((line) => line.split('  ')[1]).concat('SHA256SUMS')).toEqual(release.files);
  });

  it('is refused if a file is not what the checksums say', async () => {
    const path = within('release', `proxwright_${version}.cdx.json`);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, `${text} `);
    expect(await checkSums(within('release'))).toEqual([
      `proxwright_${version}.cdx.json does not have the checksum in SHA256SUMS.`,
    ]);
    writeFileSync(path, text);
  });

  it('has the same bytes when it is built again elsewhere', async () => {
    const packed = readNpmPackage(readFileSync(within('release', `proxwright-${version}.tgz`)));
    const again = within('again');
    await Promise.all([bundleCommand(join(again, 'cli')), bundleLibrary(again)]);
    const built = readdirSync(again, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(built.length).toBeGreaterThan(20);
    for (const { parentPath, name } of built) {
      const path = join(parentPath, name);
      const before = packed.get(`package/dist${path.slice(again.length)}`);
      expect(before?.equals(readFileSync(path)), path).toBe(true);
    }
  });

  it('lists what is inside, with versions, licences and hashes', () => {
    const { components, ...bom } = JSON.parse(
      readFileSync(within('release', `proxwright_${version}.cdx.json`), 'utf8'),
    );
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', metadata: { component: { version } } });
    const names = components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['zod', 'yaml', 'commander', 'pg', 'aws4fetch', 'selfsigned', 'node']),
    );
    expect(names).not.toContain('vitest');
    const zod = components.find(({ name }: { name: string }) => name === 'zod');
    expect(zod).toMatchObject({ licenses: [{ license: { id: 'MIT' } }], hashes: [{ alg: 'SHA-512' }] });
    expect(zod.hashes[0].content).toMatch(/^[0-9a-f]{128}$/);
  });
});

const IMAGE = 'localhost/proxwright-test';

interface Instruction {
  readonly name: string;
  readonly value: string;
}

const instructions: Instruction[] = readFileSync(join(ROOT, 'Containerfile'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ name: line.split(' ', 1)[0] ?? '', value: line.slice(line.indexOf(' ') + 1) }));
const valuesOf = (keyword: string) => instructions.filter(({ name }) => name === keyword).map(({ value }) => value);

describe('the Containerfile', () => {
  it('has no base that could change, fetches nothing, and ends as an ordinary user who runs the command', () => {
    expect(valuesOf('FROM')).toEqual(['scratch']);
    expect([...valuesOf('ADD'), ...valuesOf('RUN')]).toEqual([]);
    const [user = ''] = valuesOf('USER');
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const entry = JSON.parse(valuesOf('ENTRYPOINT')[0] ?? '[]');
    expect(entry.at(-1)).toMatch(/proxwright\.js$/);
    const names = instructions.map(({ name }) => name);
    expect(names.indexOf('USER')).toBeLessThan(names.indexOf('ENTRYPOINT'));
  });

  it('runs the command on a mounted stack, as an ordinary user who can write nowhere else', (context) => {
    const archive = platform && within('release', commandArchive(version, platform));
    if (process.platform !== 'linux' || !archive || !existsSync(archive))
      return context.skip('no executable for Linux here');
    const image = within('image');
    for (const [name, read] of readZip(readFileSync(archive))) {
      mkdirSync(join(image, name, '..'), { recursive: true });
      writeFileSync(join(image, name), read(), { mode: 0o755 });
    }
    const builder = ['podman', 'docker', 'buildah'].find((name) => spawnSync(name, ['info']).status === 0);
    if (builder) {
      const build = builder === 'buildah' ? ['build', '--isolation', 'chroot'] : ['build'];
      execFileSync(builder, [...build, '-t', IMAGE, '-f', join(ROOT, 'Containerfile'), image], { stdio: 'ignore' });
      execFileSync(builder, ['rmi', IMAGE], { stdio: 'ignore' });
    } else process.stdout.write('the container is laid out by hand: no podman, docker or buildah can run here\n');
    if (process.getuid?.() !== 0) return context.skip('a root of its own needs root');
    const root = layOut(image);
    const run = (...words: string[]) => {
      const start = JSON.parse(valuesOf('ENTRYPOINT')[0] ?? '[]') as string[];
      const place = [`--userspec=${valuesOf('USER')[0]}`, root, ...start];
      return spawnSync('chroot', [...place, ...words], {
        encoding: 'utf8',
        env: { HOME: '/tmp', PATH: process.env.PATH },
      });
    };
    expect(run('--version').stdout).toBe(`${version}\n`);
    writeFileSync(join(root, 'stack', 'stack.yaml'), 'version: 1\nstack: mounted\nvms: {}\n');
    expect(run('validate', '-f', '/stack/stack.yaml').stderr).toContain('is valid');
    expect(run('demo', '--speed', '100').stdout).toContain('No changes');
    expect(readdirSync(root).sort()).toEqual(['proxwright', 'stack', 'tmp']);
  });
});

/** What a builder makes of the instructions, with the places that a user mounts. */
function layOut(image: string): string {
  const root = within('root');
  const [folder = ''] = readdirSync(image);
  const inRoot = (path: string) => join(root, path);
  mkdirSync(root);
  for (const value of valuesOf('COPY')) {
    const [from = '', to = ''] = value.replace('proxwright-*', folder).split(' ');
    const [, parent = '', pattern = ''] = /^(.*\/)([^/]*)$/.exec(from) ?? [];
    const matched = pattern.includes('*')
      ? readdirSync(join(image, parent)).find((name) => new RegExp(`^${pattern.replace('*', '.*')}$`).test(name))
      : pattern;
    cpSync(join(image, parent, matched ?? ''), inRoot(to), { recursive: true });
  }
  for (const name of ['stack', 'tmp']) mkdirSync(inRoot(name), { mode: 0o777 });
  execFileSync('chmod', ['777', inRoot('stack'), inRoot('tmp')]);
  return root;
}
