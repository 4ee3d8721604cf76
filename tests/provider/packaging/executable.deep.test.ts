/**
 * The provider with Node inside, on machines without Node: with nothing on the PATH, in a root directory without any
 * library, and in an Alpine root if there is one. The parts are downloaded once and kept. If downloads are switched off
 * or fail, the tests are skipped and say why.
 */
import { execFile, execFileSync } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHostPrograms, type HostProgram } from '../../../src/provider/testing/terraform.ts';
import { readDebianPackage } from '../../../tools/provider/archive-read.ts';
import { cacheDirectory, fetchDownload } from '../../../tools/provider/downloads.ts';
import { type PlatformPackage, writeUnpacked } from '../../../tools/provider/mirror.ts';
import { bundledScript, executablePackage } from '../../../tools/provider/packages.ts';
import { ADDRESS, ownPlatform, packageVersion, programName } from '../../../tools/provider/platforms.ts';
import { singleExecutable } from '../../../tools/provider/single-executable.ts';
import { SMALL, vm } from '../terraform/support/hcl.ts';
import { Scene } from '../terraform/support/scene.ts';
import { resourcesOf } from './support/started-provider.ts';

/** A shell that needs no library. */
const BUSYBOX = {
  url: 'https://deb.debian.org/debian/pool/main/b/busybox/busybox-static_1.35.0-4+deb12u1+b1_amd64.deb',
  sha256: '3d3fdbe91d4660c873e14b092c213fe81c1da6362daa236eb25d0171eb108744',
};
const version = packageVersion();
const script = await bundledScript();
const made = await available('the executable', makePackage);
const single = await available('the single executable', makeSingle);
const busybox = await available('the root without libraries', takeBusybox);
const chroot = await available('a root of its own', findChroot);
const alpine = await available('the Alpine root', findAlpine);
const hosts = await findHostPrograms();
let root: string;
let mirror: string;
let directory: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'pw-exe-'));
  mirror = join(root, 'mirror-unpacked');
  if (!made) return;
  await writeUnpacked(root, version, made);
  directory = join(mirror, ADDRESS, version, made.platform);
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe.runIf(made)('the executable', () => {
  it('serves its host without a Node on the PATH', async () => {
    const environment = { PATH: '/nowhere', TMPDIR: root };
    expect(await resourcesOf({ command: [join(directory, programName(version))], environment })).toContain(
      'proxwright_vm',
    );
  });

  it.runIf(chroot && busybox)('needs nothing but a shell', async () => {
    const bare = await mkdtemp(join(root, 'r-'));
    await mkdir(join(bare, 'bin'));
    await mkdir(join(bare, 'tmp'));
    await writeFile(join(bare, 'bin', 'sh'), busybox ?? '', { mode: 0o755 });
    await cp(directory, join(bare, 'provider'), { recursive: true });
    const command = [...(chroot ?? ['']), bare, `/provider/${programName(version)}`] as [string, ...string[]];
    const environment = { PATH: process.env.PATH ?? '', TMPDIR: '/tmp' };
    expect(await resourcesOf({ command, environment, root: bare })).toContain('proxwright_vm');
  });

  it.each(hosts)('is installed and used by $name $version', async (host) => {
    const scene = await Scene.open({
      host,
      installation: { kind: 'mirror', directory: mirror },
      environment: { PATH: withoutNode() },
    });
    try {
      await scene.write(vm('web', SMALL));
      expect(await scene.workspace.init()).toMatchObject({ code: 0 });
      expect(await scene.plan()).toMatchObject({ code: 2, diagnostics: [] });
    } finally {
      await scene.close();
    }
  });

  it.runIf(alpine && chroot).for(hosts)('works with $name in a root of Alpine Linux', async (host, { skip }) => {
    const scene = await Scene.open({ host, installation: { kind: 'mirror', directory: mirror } });
    try {
      await scene.write(vm('web', SMALL));
      const inside = await furnishAlpine(host, scene);
      const run = (command: string) => runInside(inside, command, scene.environment);
      expect(await run('cat /etc/os-release')).toMatch(/ID=alpine/);
      // Otherwise the test would show less than it says.
      expect(await run('ls /usr/lib')).not.toContain('libstdc++');
      const isStatic = await run('host version').catch(() => undefined);
      skip(isStatic === undefined, `this ${host.name} needs libraries that Alpine does not have`);
      expect(await run('cd /work && host init -no-color')).toContain('successfully initialized');
      expect(await run('cd /work && host plan -no-color')).toContain('1 to add, 0 to change');
    } finally {
      await scene.close();
    }
  });

  async function runInside(inside: string, command: string, environment: Readonly<Record<string, string>>) {
    const [program = '', ...args] = [...(chroot ?? []), inside, '/bin/sh', '-c', command];
    const { stdout } = await promisify(execFile)(program, args, {
      env: {
        ...environment,
        PATH: `/usr/sbin:/usr/bin:/sbin:/bin:${process.env.PATH}`,
        HOME: '/tmp',
        TMPDIR: '/tmp',
        TF_CLI_CONFIG_FILE: '/etc/cli.tfrc',
        CHECKPOINT_DISABLE: '1',
      },
    });
    return stdout;
  }

  async function furnishAlpine(host: HostProgram, scene: Scene): Promise<string> {
    const inside = await mkdtemp(join(root, 'a-'));
    execFileSync('cp', ['-a', `${alpine}/.`, inside]);
    // A device there, a file here: it is only written to.
    await writeFile(join(inside, 'dev', 'null'), '');
    const binary = execFileSync('sh', ['-c', `command -v "${host.binary}"`], { encoding: 'utf8' }).trim();
    await cp(binary, join(inside, 'bin', 'host'), { dereference: true });
    await cp(mirror, join(inside, 'mirror'), { recursive: true });
    await cp(scene.workspace.directory, join(inside, 'work'), { recursive: true });
    await writeFile(
      join(inside, 'etc', 'cli.tfrc'),
      'provider_installation {\n  filesystem_mirror {\n    path = "/mirror"\n  }\n}\n',
    );
    return inside;
  }
});

describe.runIf(single)('the single executable', () => {
  it('serves its host without a Node on the PATH', async () => {
    const path = join(root, 'single');
    await writeFile(path, single ?? '', { mode: 0o755 });
    const environment = { PATH: '/nowhere', TMPDIR: root };
    expect(await resourcesOf({ command: [path], environment })).toContain('proxwright_vm');
  });
});

async function makePackage(): Promise<PlatformPackage> {
  const platform = await mayDownload();
  return { platform, files: await executablePackage(script, version, platform) };
}

/** The way of the package for Windows, tried with the Node that runs this. */
async function makeSingle(): Promise<Buffer> {
  await mayDownload();
  return singleExecutable({ script, node: await readFile(process.execPath), runNode: [process.execPath] });
}

async function takeBusybox(): Promise<Buffer> {
  if ((await mayDownload()) !== 'linux_amd64') throw new Error('it is made for linux_amd64');
  const shell = readDebianPackage(await fetchDownload(BUSYBOX)).get('bin/busybox');
  if (!shell) throw new Error('the package of busybox has none');
  return shell;
}

/** Sixty megabytes are downloaded only on request. */
async function mayDownload() {
  const platform = ownPlatform();
  if (!platform?.startsWith('linux')) throw new Error('it is tested on Linux');
  const isHere = await access(cacheDirectory()).then(
    () => true,
    () => false,
  );
  if (!process.env.CI && !isHere) throw new Error('its parts are not here; npm run provider:pack downloads them');
  return platform;
}

async function findChroot(): Promise<readonly [string, ...string[]]> {
  const choices = [['chroot'], ['unshare', '--user', '--map-root-user', 'chroot']] as const;
  for (const choice of choices) {
    try {
      execFileSync(choice[0], [...choice.slice(1), '/', 'true'], { stdio: 'ignore' });
      return choice;
    } catch {}
  }
  throw new Error('neither chroot nor unshare may be used here');
}

async function findAlpine(): Promise<string> {
  const path = process.env.PROXWRIGHT_ALPINE_ROOT;
  if (!path) throw new Error('PROXWRIGHT_ALPINE_ROOT does not name an unpacked one');
  await access(join(path, 'lib', 'apk'));
  return path;
}

async function available<Result>(what: string, make: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await make();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`skipped: tests with ${what}: ${reason}\n`);
    return undefined;
  }
}

/** The host's own directories, except those that have a Node. */
function withoutNode(): string {
  const directories = (process.env.PATH ?? '').split(delimiter);
  return directories.filter((path) => path && !hasNode(path)).join(delimiter) || '/nowhere';
}

function hasNode(path: string): boolean {
  try {
    execFileSync('test', ['-e', join(path, 'node')]);
    return true;
  } catch {
    return false;
  }
}
