/**
 * Runs programs on this machine. Each one has its own process group: Ctrl-C at the terminal does not reach it, and a
 * program that takes too long is stopped together with its children.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type Clock, canceledBy } from '../base/clock.ts';
import type { Environment, Processes, Program, ProgramEnd } from '../base/processes.ts';
import { withoutCredentials } from './environment.ts';

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;
/** A background process may keep the output open for this long after the hook has ended. */
const OUTPUT_MS = 1_000;

export interface ProcessDeps {
  readonly clock: Clock;
  /** Programs get it without the credentials of Proxmox. */
  readonly environment: Environment;
  /** Where they run. */
  readonly directory: string;
}

export function createProcesses(deps: ProcessDeps): Processes {
  return {
    run: async (program) => {
      if (program.signal.aborted) throw canceledBy(program.signal);
      const [name = '', ...args] = program.command;
      const child = spawn(name, args, {
        cwd: deps.directory,
        env: { ...withoutCredentials(deps.environment), ...program.environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      return follow(child, program, deps.clock);
    },
  };
}

async function follow(child: ChildProcess, program: Program, clock: Clock): Promise<ProgramEnd> {
  const { timeoutMs, signal, onLine } = program;
  const ended = endOf(child);
  const outputs = [child.stdout, child.stderr].map((stream) => readLines(stream, onLine));
  const over = new AbortController();
  const isOver = ended.finally(() => over.abort());
  const end = await Promise.race([
    isOver,
    timedOut(clock, timeoutMs, over.signal),
    aborted(signal, over.signal).then(() => 'canceled' as const),
  ]);
  if (end === 'timed-out' || end === 'canceled') await endGroup(child, isOver, clock);
  await Promise.race([Promise.all(outputs), clock.sleep(OUTPUT_MS)]);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  if (end === 'canceled') throw canceledBy(signal);
  return end === 'timed-out' ? { kind: end } : end;
}

function endOf(child: ChildProcess): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ kind: 'not-started', reason: error.message }));
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'a signal' } : { kind: 'exited', code }),
    );
  });
}

/** Never resolves once the program has ended. */
function timedOut(clock: Clock, ms: number, over: AbortSignal): Promise<'timed-out'> {
  return clock.sleep(ms, over).then(
    () => 'timed-out' as const,
    () => new Promise<never>(() => {}),
  );
}

function aborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    over.addEventListener('abort', () => signal.removeEventListener('abort', onAbort), { once: true });
  });
}

/** SIGTERM first, so that the program can clean up. */
async function endGroup(child: ChildProcess, ended: Promise<unknown>, clock: Clock): Promise<void> {
  const waiting = new AbortController();
  signalGroup(child, 'SIGTERM');
  const isGone = await Promise.race([
    ended.then(() => true),
    clock.sleep(GRACE_MS, waiting.signal).then(
      () => false,
      () => true,
    ),
  ]);
  waiting.abort();
  // Also what its first process left behind.
  signalGroup(child, 'SIGKILL');
  if (!isGone) await ended;
}

function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has already ended.
  }
}

/** Longer lines are cut: a program may never end its line. */
const LONGEST_LINE = 4_096;

function readLines(stream: Readable | null, onLine: (line: string) => void): Promise<void> {
  if (!stream) return Promise.resolve();
  let rest = '';
  const emit = (line: string) => onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) emit(line);
    if (rest.length <= LONGEST_LINE) return;
    emit(rest);
    rest = '';
  });
  return new Promise((resolve) => {
    stream.once('close', () => {
      if (rest !== '') emit(rest);
      rest = '';
      resolve();
    });
  });
}
