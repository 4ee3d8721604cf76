/** The built command as users run it: built when the sources are newer, started as a process of its own. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const COMMAND = join(ROOT, 'bin', 'proxwright.js');
const BUILT = join(ROOT, 'dist', 'cli', 'main.cjs');

/** Test files run side by side: one of them builds, the others wait for it. */
const BUILD_LOCK = join(ROOT, 'node_modules', '.proxwright-build');
/** Far longer than a build takes on a busy machine: a lock this old was left behind by a run that was killed. */
const BUILD_LIMIT_MS = 900_000;
const LOOK_MS = 200;

export function ensureBuilt(): void {
  for (let waitedMs = 0; waitedMs < BUILD_LIMIT_MS; waitedMs += LOOK_MS) {
    if (takeBuildLock()) {
      try {
        buildIfNeeded();
        return;
      } finally {
        rmdirSync(BUILD_LOCK);
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
  }
  throw new Error(`another test has been building for too long; if none is running, remove ${BUILD_LOCK}`);
}

function takeBuildLock(): boolean {
  try {
    mkdirSync(BUILD_LOCK);
    return true;
  } catch {
    const since = statSync(BUILD_LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > BUILD_LIMIT_MS) rmdirSync(BUILD_LOCK);
    return false;
  }
}

function buildIfNeeded(): void {
  if (existsSync(BUILT) && statSync(BUILT).mtimeMs >= newestSourceMs()) return;
  const built = spawnSync('npm', ['run', 'build'], { cwd: ROOT, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`the build failed:\n${built.stdout}${built.stderr}`);
}

function newestSourceMs(): number {
  const files = ['src', 'tools/bundle'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }),
  );
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
  /** Resolves once the text was written to standard error; rejects when the command ends before. */
  said(text: string): Promise<void>;
  /** The same for standard output. */
  printed(text: string): Promise<void>;
}

/** The variables that `sim` prints as lines for a shell. */
export function announcedVariables(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line): [string, string] => {
      const [, name = '', value = ''] = /^export (\w+)='(.*)'$/.exec(line) ?? [];
      return [name, value];
    }),
  );
}

export function startCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  directory = process.cwd(),
): RunningCommand {
  const env = { ...process.env, ...environment };
  return watched(spawn(process.execPath, [COMMAND, ...args], { env, cwd: directory }));
}

function watched(child: ChildProcessWithoutNullStreams): RunningCommand {
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      text[name] += chunk.toString();
    });
  }
  const finished = new Promise<Finished>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...text }));
  });
  const until = <Value>(name: 'stdout' | 'stderr', look: () => Value | undefined) =>
    new Promise<Value>((resolve, reject) => {
      const check = () => {
        const found = look();
        if (found !== undefined) resolve(found);
      };
      child[name].on('data', check);
      check();
      finished.then((end) => reject(new Error(`it ended with ${end.code}: ${end.stderr}`)), reject);
    });
  return {
    process: child,
    finished,
    firstLines: (count) =>
      until('stdout', () => {
        const lines = text.stdout.split('\n').slice(0, -1);
        return lines.length >= count ? lines.slice(0, count) : undefined;
      }),
    said: async (words) => {
      await until('stderr', () => text.stderr.includes(words) || undefined);
    },
    printed: async (words) => {
      await until('stdout', () => text.stdout.includes(words) || undefined);
    },
  };
}

export function runCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  directory = process.cwd(),
): Promise<Finished> {
  return startCommand(args, environment, directory).finished;
}

/** A terminal, by the tool that every Linux has for it. */
const SCRIPT = '/usr/bin/script';
export const hasTerminal = process.platform === 'linux' && existsSync(SCRIPT);

/**
 * What the command writes to either stream comes out of its standard output, and what is typed goes into its input.
 * `exec`, so that the only child of the terminal is the command, whichever shell starts it.
 */
export function startOnTerminal(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  directory: string,
): RunningCommand {
  const line = [process.execPath, COMMAND, ...args].map((part) => `'${part}'`).join(' ');
  const env = { ...process.env, ...environment };
  return watched(spawn(SCRIPT, ['-qefc', `stty cols 120 rows 40; exec ${line}`, '/dev/null'], { env, cwd: directory }));
}
