/**
 * Whether the process that took a lock still runs. A process id alone means little: it must belong to this host, this
 * boot and this PID namespace, and the process must have started when the lock says. If that is uncertain, the answer
 * is unknown.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { codeOf } from './local-files.ts';
import type { LockHolder, LockOwner } from './store.ts';

export const processSchema = z.object({
  /** Changes whenever the kernel starts. */
  boot: z.string().optional(),
  /** The same process id means another process in another namespace. */
  pidNamespace: z.string().optional(),
  /** In ticks since the boot: distinguishes a process from a later one with the same id. */
  started: z.string().optional(),
});

export type ProcessFacts = z.output<typeof processSchema>;

/** Only a process of this host, this boot and this PID namespace can be checked. */
export async function lifeOf(
  { host, pid }: LockOwner,
  recorded: ProcessFacts | undefined,
): Promise<Omit<LockHolder, 'owner'>> {
  if (host !== hostname()) return unknown('it runs on another machine');
  const here = await factsOf(pid);
  if (recorded && recorded.boot !== here.boot) {
    return unknown('this machine was restarted since, or another one has the same name');
  }
  if (recorded && recorded.pidNamespace !== here.pidNamespace) {
    return unknown('it runs in another container or PID namespace of this machine');
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return { life: 'dead' };
  }
  const status = await statusOf(pid);
  // A zombie process is still listed, but it will never act again.
  if (status?.state === 'Z') return { life: 'dead' };
  if (recorded?.started !== undefined && status && status.started !== recorded.started) {
    return unknown(`process ${pid} of this machine is a later one with the same number`);
  }
  return { life: 'alive' };
}

const unknown = (doubt: string) => ({ life: 'unknown', doubt }) as const;

/** Empty if the system has no /proc: there a process id identifies one process of the machine. */
export async function factsOf(pid: number): Promise<ProcessFacts> {
  const [boot, pidNamespace, status] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined),
    readlink('/proc/self/ns/pid').catch(() => undefined),
    statusOf(pid),
  ]);
  return {
    ...(boot !== undefined && { boot: boot.trim() }),
    ...(pidNamespace !== undefined && { pidNamespace }),
    ...(status && { started: status.started }),
  };
}

/** proc(5): after the name in parentheses come the state and, as the 20th value from there, the start of the process. */
async function statusOf(pid: number): Promise<{ readonly state: string; readonly started: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [values[0], values[19]];
  return state && started ? { state, started } : undefined;
}

export interface ProcessKnowledge {
  readonly factsOf: typeof factsOf;
  readonly lifeOf: typeof lifeOf;
}

export const systemProcesses: ProcessKnowledge = { factsOf, lifeOf };
