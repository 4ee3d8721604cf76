/** Whether a release works: its checksums, and what a user does first with each package that this machine can run. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../bundle/bundle.ts';
import { readNpmPackage, readZip } from '../provider/archive-read.ts';
import { sha256 } from '../provider/package-files.ts';
import { ownPlatform, packageVersion } from '../provider/platforms.ts';
import { commandArchive, commandFolder, singleScript } from './command-package.ts';

/** Returns what is wrong; an empty list means that the release works. */
export async function checkRelease(directory: string, say: (text: string) => void): Promise<string[]> {
  const work = await mkdtemp(join(tmpdir(), 'proxwright-release-'));
  try {
    const version = packageVersion();
    const problems = await checkSums(directory);
    say('checking the npm package');
    const npm = join(work, 'npm');
    for (const [name, bytes] of readNpmPackage(await readFile(join(directory, `proxwright-${version}.tgz`)))) {
      await write(join(npm, name), bytes);
    }
    problems.push(
      ...(await checkCommand('npm package', [process.execPath, join(npm, 'package/bin/proxwright.js')], work)),
    );
    say('checking the single script');
    const script = join(work, 'single.cjs');
    await writeFile(script, await singleScript());
    problems.push(...(await checkCommand('single script', [process.execPath, script], work)));
    const platform = ownPlatform();
    const archive =
      platform && (await readFile(join(directory, commandArchive(version, platform))).catch(() => undefined));
    if (!archive || process.platform === 'win32') return problems;
    say(`checking the command for ${platform}`);
    for (const [name, read] of readZip(archive)) await write(join(work, 'unpacked', name), read());
    const program = join(work, 'unpacked', commandFolder(version), 'proxwright');
    // As people put it into their PATH.
    await symlink(program, join(work, 'proxwright'));
    return [...problems, ...(await checkCommand(`command for ${platform}`, [join(work, 'proxwright')], work))];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Whether every file is what SHA256SUMS says. */
export async function checkSums(directory: string): Promise<string[]> {
  const lines = (await readFile(join(directory, 'SHA256SUMS'), 'utf8')).trim().split('\n');
  const wrong = lines.map(async (line) => {
    const [sum, name = ''] = line.split('  ');
    const bytes = await readFile(join(directory, name)).catch(() => undefined);
    return bytes && sha256(bytes) === sum ? [] : [`${name} does not have the checksum in SHA256SUMS.`];
  });
  return (await Promise.all(wrong)).flat();
}

async function checkCommand(what: string, start: readonly [string, ...string[]], work: string): Promise<string[]> {
  const cwd = await mkdtemp(join(work, 'empty-'));
  const [program, ...args] = start;
  const problems: string[] = [];
  for (const { words, says } of EXPECTED) {
    const { stdout, stderr } = await run(program, [...args, ...words], { cwd, maxBuffer: 2 ** 26 }).catch(
      (error: { readonly stdout?: string; readonly stderr?: string }) => error,
    );
    if (!stdout?.includes(says())) problems.push(`${what}: ${words.join(' ')} says: ${stdout}${stderr}`);
  }
  return problems;
}

const run = promisify(execFile);

const EXPECTED = [
  { words: ['--version'], says: packageVersion },
  { words: ['demo', '--speed', '100'], says: () => 'No changes' },
  { words: ['init', '--example', 'from-bare-host', '--json'], says: () => 'user-data.yaml' },
  { words: ['validate', '--json'], says: () => '"valid":true' },
];

async function write(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  // Our reader of zips leaves modes out; whether archives have them is tested elsewhere.
  await chmod(path, 0o755);
}

export const DEFAULT_DIRECTORY = join(ROOT, 'build', 'release');
