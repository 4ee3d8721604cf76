/** Runs third-party programs with a time limit, without a shell, and keeps their output. */
import { spawn } from 'node:child_process';

export interface Ran {
  /** -1 when it could not be started or was ended by a signal. */
  readonly code: number;
  readonly stdout: string;
  /** Both streams as they came. */
  readonly output: string;
}

export interface RunOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: options.directory,
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 300_000,
    });
    let stdout = '';
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk;
      output += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    child.on('error', (error) => resolve({ code: -1, stdout, output: `${output}${error.message}` }));
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, output }));
  });
}

/** Whether a program can be started at all. */
export async function isThere(program: string, versionArgument: string): Promise<boolean> {
  return (await run(program, [versionArgument], { timeoutMs: 30_000 })).code === 0;
}

/** The last lines, which is where programs say what went wrong. */
export function tail(output: string, lines = 12): string {
  return output.trim().split('\n').slice(-lines).join('\n');
}
