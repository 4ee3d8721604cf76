/** The built command as users run it: built when the sources are newer, started as a process of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = join(ROOT, 'bin', 'proxwright.js');
const BUILT = join(ROOT, 'dist', 'cli', 'main.js');

export function ensureBuilt(): void {
  if (existsSync(BUILT) && statSync(BUILT).mtimeMs >= newestSourceMs()) return;
  const built = spawnSync('npm', ['run', 'build'], { cwd: ROOT, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
}

function newestSourceMs(): number {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true });
  const sources = files.filter((file) => file.isFile() && file.name.endsWith('.ts') && !file.name.endsWith('.test.ts'));
  return Math.max(...sources.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs));
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
  /** The first `count` lines of standard output; rejects when the command ends before. */
  firstLines(count: number): Promise<string[]>;
}

export function startCommand(args: readonly string[], environment: NodeJS.ProcessEnv = {}): RunningCommand {
  const child = spawn(process.execPath, [COMMAND, ...args], { env: { ...process.env, ...environment } });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      text[name] += chunk.toString();
    });
  }
  const finished = new Promise<Finished>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...text }));
  });
  const firstLines = (count: number) =>
    new Promise<string[]>((resolve, reject) => {
      const look = () => {
        const lines = text.stdout.split('\n').slice(0, -1);
        if (lines.length >= count) resolve(lines.slice(0, count));
      };
      child.stdout.on('data', look);
      look();
      finished.then((end) => reject(new Error(`it ended with ${end.code}: ${end.stderr}`)), reject);
    });
  return { process: child, finished, firstLines };
}

export function runCommand(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Finished> {
  return startCommand(args, environment).finished;
}
