/** The real programs behind hooks: their output, their end, and that nothing of them survives a timeout or Ctrl-C. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { isCanceled } from '../../src/base/errors.ts';
import type { Program } from '../../src/base/processes.ts';
import { createProcesses } from '../../src/local/processes.ts';

const directory = await mkdtemp(join(tmpdir(), 'proxwright-processes-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const processes = createProcesses({
  clock: systemClock,
  environment: { PATH: process.env.PATH, KEPT: 'yes', PROXMOX_VE_API_TOKEN: 'root@pam!a=secret' },
  directory,
});

function program(script: string, more: Partial<Program> = {}): Program & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    command: ['sh', '-c', script, 'hook', 'a b', '$HOME'],
    environment: { PROXWRIGHT_VM_NAME: 'web-1' },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
    lines,
    ...more,
  };
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const untilGone = async (pid: number) => {
  while (isAlive(pid)) await systemClock.sleep(20);
};

describe('a program of this machine', () => {
  it('gets its arguments as they are and our environment without credentials, and its output is read line by line', async () => {
    const given = program(
      'test -z "$PROXMOX_VE_API_TOKEN" && set -- "$1" "$2" none; printf "%s\\n" "$1" "$2" "$KEPT" "$3" "$PROXWRIGHT_VM_NAME" "$(pwd)"; printf end >&2; exit 4',
    );
    expect(await processes.run(given)).toEqual({ kind: 'exited', code: 4 });
    expect(given.lines.slice(0, 5)).toEqual(['a b', '$HOME', 'yes', 'none', 'web-1']);
    expect(given.lines).toContain('end');
    expect(given.lines.some((line) => line.endsWith(directory.split('/').at(-1) ?? ''))).toBe(true);
  });

  it('ends with the reason if it does not exist or is killed', async () => {
    expect(await processes.run(program('', { command: ['no-such-program-here'] }))).toEqual({
      kind: 'not-started',
      reason: 'spawn no-such-program-here ENOENT',
    });
    expect(await processes.run(program('kill -9 $$'))).toEqual({ kind: 'killed', signal: 'SIGKILL' });
  });

  it('is ended with its children when it takes too long', async () => {
    const given = program('sleep 600 & echo $!; wait', { timeoutMs: 300 });
    expect(await processes.run(given)).toEqual({ kind: 'timed-out' });
    await untilGone(Number(given.lines[0]));
  });

  it('is asked to end when the run is stopped, and only then is the run canceled', async () => {
    const stop = new AbortController();
    const given = program('trap "echo cleaned > cleaned; exit 0" TERM; echo ready; while :; do sleep 0.05; done', {
      signal: stop.signal,
      onLine: () => stop.abort(),
    });
    const error = await processes.run(given).catch((reason: unknown) => reason);
    expect(isCanceled(error)).toBe(true);
    expect(await readFile(join(directory, 'cleaned'), 'utf8')).toBe('cleaned\n');
  });

  it('counts as ended although it leaves something running in the background', async () => {
    const given = program('sleep 600 & echo $!; exit 0');
    expect(await processes.run(given)).toEqual({ kind: 'exited', code: 0 });
    const pid = Number(given.lines[0]);
    expect(isAlive(pid)).toBe(true);
    process.kill(pid);
  });
});
