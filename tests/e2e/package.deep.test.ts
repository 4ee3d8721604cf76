/**
 * The package as a user installs it: packed, put into an empty project with its dependencies from the registry,
 * type-checked through every entry point, and used. It is packed from a copy of the tree, because other tests are using its `dist`.
 */
import { execFile } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stageNpmPackage } from '../../tools/release/npm-package.ts';
import { ensureBuilt } from './built-command.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = join(root, 'node_modules', '.bin', 'tsc');

/** What npm says when the registry is the problem and not the package. */
const UNREACHABLE = /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|HOSTUNREACH|NETUNREACH)|ENOTCACHED|ERR_SOCKET/;

const USES_TYPES = `
import { type Clock, formatDiagnostic, isFamily, Secret, toDiagnostic, VirtualClock } from 'proxwright';
import { retryWhileBusy } from 'proxwright/engine';
import { createPve, isNotFound, type Pve, parseToken, type VmConfig } from 'proxwright/pve';
import { createSimulator, recordedWorld, seededRandom, type Simulator, type World } from 'proxwright/simulator';

const clock: Clock = new VirtualClock();
const world: World = recordedWorld({ now: clock.now() });
const simulator: Simulator = createSimulator({ world, clock, random: seededRandom('types') });
const pve: Pve = createPve({ transport: simulator.transport(), credentials: parseToken('a@b!cc=d'), clock });
export const config: Promise<VmConfig> = pve.node('pve1').vm(100).config.get();
export const shown = (error: unknown): string =>
  isFamily(error, 'api') && isNotFound(error) ? error.code : formatDiagnostic(toDiagnostic(error));
export const secret = new Secret('x');
export const retry: unknown = retryWhileBusy;
// @ts-expect-error a VM id is a number: were everything "any", this line would not be an error
pve.node('pve1').vm('100');
`;

const USES_CODE = `
import { VirtualClock } from 'proxwright';
import * as engine from 'proxwright/engine';
import { createPve, parseToken } from 'proxwright/pve';
import { createSimulator, recordedWorld, seededRandom } from 'proxwright/simulator';

const clock = new VirtualClock();
const simulator = createSimulator({ world: recordedWorld({ now: clock.now() }), clock, random: seededRandom('package') });
const pve = createPve({
  transport: simulator.transport(),
  credentials: parseToken('root@pam!test=00000000-0000-4000-8000-000000000001'),
  clock,
});
const result = await clock.run(async () => {
  const { version } = await pve.authenticate();
  const upid = await pve.node('pve1').vm(9000).clone({ newid: 4711, name: 'from-the-package', full: true });
  const { outcome } = await pve.tasks.wait(upid);
  const { values } = await pve.node('pve1').vm(4711).config.get();
  return { version, outcome, name: values.get('name'), scsi0: values.get('scsi0') };
});
console.log(JSON.stringify({ ...result, engine: Object.keys(engine).length > 0 }));
`;

describe('the package in an empty project', () => {
  let directory: string;
  let project: string;
  let unreachable: string | undefined;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'proxwright-package-'));
    project = join(directory, 'project');
    const tarball = await pack(join(directory, 'staging'));
    await mkdir(project);
    await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
    try {
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', tarball], { cwd: project });
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      if (!UNREACHABLE.test(said)) throw error;
      unreachable = `the registry is not reachable: ${UNREACHABLE.exec(said)?.[0]}`;
      process.stdout.write(`package test skipped: ${unreachable}\n`);
    }
  });

  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it('type-checks through all of its entry points', async (context) => {
    if (unreachable) return context.skip(unreachable);
    await writeFile(join(project, 'uses.ts'), USES_TYPES);
    const options = { module: 'nodenext', target: 'es2023', strict: true, noEmit: true, types: [] };
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['uses.ts'] }));
    expect(await output(tsc, ['-p', project])).toBe('');
  });

  it('clones a template in a simulator and reads its configuration', async (context) => {
    if (unreachable) return context.skip(unreachable);
    await writeFile(join(project, 'uses.js'), USES_CODE);
    expect(JSON.parse(await output(process.execPath, ['uses.js'], project))).toEqual({
      version: '9.2.11',
      outcome: 'ok',
      name: 'from-the-package',
      scsi0: 'local:4711/vm-4711-disk-0.qcow2,size=1G',
      engine: true,
    });
  });

  it('contains what its manifest points to, and no tests', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const installed = join(project, 'node_modules', 'proxwright');
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
    const pointedTo = Object.values(manifest.exports).flatMap((door) =>
      typeof door === 'string' ? [door] : Object.values(door),
    );
    for (const path of pointedTo) expect((await readFile(join(installed, path))).length).toBeGreaterThan(0);
    const files = (await readdir(installed, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    expect(files.filter(({ name }) => name.includes('.test.'))).toEqual([]);
    expect(files.length).toBeLessThan(450);
    // npm would ask whether to trust them.
    expect(manifest).not.toHaveProperty('scripts');
    expect(await readdir(join(project, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'proxwright', 'zod']);
  });

  it('has every file that its README links to, and says where it comes from', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const installed = join(project, 'node_modules', 'proxwright');
    const text = await readFile(join(installed, 'README.md'), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(30);
    const missing = await Promise.all(links.map(async (path) => ((await exists(join(installed, path))) ? [] : [path])));
    expect(missing.flat()).toEqual([]);
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ repository: { url: expect.stringMatching(/^git\+https:/) } });
    expect(manifest).toMatchObject({
      homepage: expect.stringMatching(/^https:/),
      bugs: expect.stringMatching(/^https:/),
    });
  });

  it('runs the demo from an empty directory', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const empty = join(directory, 'empty');
    await mkdir(empty);
    // What npx runs.
    const command = join(project, 'node_modules', '.bin', 'proxwright');
    expect(await output(command, ['demo', '--speed', '100'], empty)).toContain('No changes');
    expect(await readdir(empty)).toEqual([]);
  });

  it('starts, whatever happened to its compiled code between two starts', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const command = join(project, 'node_modules', '.bin', 'proxwright');
    const kept = join(project, 'node_modules', 'proxwright', 'dist', 'cli', 'compiled');
    const help = await output(command, ['--help']);
    const files = (await readdir(kept, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(0);
    const damages = [
      () => Buffer.alloc(0),
      () => Buffer.from('no longer what it was'),
      (bytes: Buffer) => bytes.map((byte, at) => (at % 1000 === 500 ? byte ^ 0x41 : byte)),
    ];
    for (const damaged of damages) {
      for (const { parentPath, name } of files) {
        const path = join(parentPath, name);
        await writeFile(path, damaged(await readFile(path)));
      }
      expect(await output(command, ['--help'])).toBe(help);
    }
    await rm(kept, { recursive: true });
    await writeFile(kept, 'a file where the directory should be');
    expect(await output(command, ['--help'])).toBe(help);
    await rm(kept);
  });

  it('says what to install for a state in PostgreSQL or S3', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const stack = join(directory, 'shared');
    await mkdir(stack);
    const command = join(project, 'node_modules', '.bin', 'proxwright');
    const stores = {
      pg: '{ postgres: { address: postgres://me@127.0.0.1/db } }',
      aws4fetch: '{ s3: { bucket: states } }',
    };
    for (const [driver, state] of Object.entries(stores)) {
      await writeFile(join(stack, 'stack.yaml'), `version: 1\nstack: shared\nstate: ${state}\nvms: {}\n`);
      const said = await output(command, ['state', 'list'], stack);
      expect(said).toContain(`This store needs the package "${driver}"`);
      expect(said).toContain(`npm install ${driver}`);
    }
  });

  it('starts a stack from an example that it contains', async (context) => {
    if (unreachable) return context.skip(unreachable);
    const stack = join(directory, 'stack');
    await mkdir(stack);
    const command = join(project, 'node_modules', '.bin', 'proxwright');
    const written = ['stack.yaml', 'user-data.yaml', 'stack.schema.json', '.gitignore'];
    expect(JSON.parse(await output(command, ['init', '--example', 'from-bare-host', '--json'], stack))).toEqual({
      schema: 1,
      written,
    });
    expect((await readdir(stack)).toSorted()).toEqual(written.toSorted());
    const original = join(root, 'examples', 'from-bare-host', 'user-data.yaml');
    expect(await readFile(join(stack, 'user-data.yaml'), 'utf8')).toBe(await readFile(original, 'utf8'));
    expect(JSON.parse(await output(command, ['validate', '--json'], stack))).toMatchObject({ valid: true });
  });
});

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** The tarball that `npm pack` makes of the built tree. */
async function pack(staging: string): Promise<string> {
  ensureBuilt();
  await stageNpmPackage(staging);
  const filter = (path: string) => !path.includes(join('dist', 'cli', 'compiled'));
  await cp(join(root, 'dist'), join(staging, 'dist'), { recursive: true, filter });
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json'], { cwd: staging });
  const [{ filename }] = JSON.parse(stdout) as [{ readonly filename: string }];
  return join(staging, filename);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** What a program said; if it failed, what it said instead. */
async function output(program: string, args: readonly string[], cwd?: string): Promise<string> {
  try {
    return (await run(program, args, { cwd, maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `failed: ${stdout}${stderr}`;
  }
}
