/** The processes of a run: the host that a test has started, and the provider that the host has started itself. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Running } from '../../../../src/provider/testing/terraform.ts';

export const hasProcesses = process.platform === 'linux';
if (!hasProcesses) process.stderr.write('skipped: killing a provider alone, whose process is looked up in /proc\n');

export function pidOf({ child }: Running): number {
  if (child.pid === undefined) throw new Error('the host did not start');
  return child.pid;
}

/** The process that the host has started. */
export function providerPidOf(running: Running): number {
  const pid = pidOf(running);
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  const [child] = children;
  if (child === undefined) throw new Error('the host has no provider');
  return child;
}
