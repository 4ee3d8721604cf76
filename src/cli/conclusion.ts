/** The end of a run: what stands, what failed and why, and the exit code. */
import { counted, inNumber } from '../base/count.ts';
import { printDuration } from '../base/units.ts';
import { stackOutputs } from '../engine/outputs/outputs.ts';
import type { StackState } from '../state/stack-state.ts';
import { type CommandHost, EXIT_CANCELED, type ExitCode } from './command-host.ts';
import { countedKinds, partOf } from './counted-kinds.ts';
import type { StackHost } from './opened-stack.ts';
import type { Execution } from './stack-session.ts';
import { paintFor } from './views/paint.ts';
import { renderSummary } from './views/summary.ts';

export function conclude(
  { stack }: Pick<StackHost, 'stack'>,
  state: StackState,
  { outcomes, problems, timeline, tookMs }: Execution,
  host: CommandHost,
  command: 'apply' | 'destroy',
): ExitCode {
  const { terminal } = host;
  const vms = stackOutputs(stack, state).vms;
  const all = [...outcomes.values()];
  const count = (...wanted: typeof all) => all.filter((outcome) => wanted.includes(outcome)).length;
  const code: ExitCode = all.includes('canceled') ? EXIT_CANCELED : all.every((each) => each === 'done') ? 0 : 1;
  for (const problem of problems.values()) terminal.diagnostic(problem);
  if (host.json) {
    const outcomeOf = Object.fromEntries(outcomes);
    terminal.result(
      JSON.stringify({
        type: 'result',
        tookMs,
        outcomes: outcomeOf,
        vms: vms.filter((vm) => outcomes.has(vm.address)),
      }),
    );
  } else {
    // VMs that are not in the file any more are known by what is remembered of them.
    const strays = Object.entries(state.vms).map(([address, vm]) => ({ ...vm, address, ip: null }));
    for (const line of renderSummary(timeline, [...strays, ...vms], paintFor(host.stdout))) terminal.result(line);
  }
  if (code === 0) {
    terminal.success(
      `${command === 'apply' ? 'Applied' : 'Destroyed'}: ${countedKinds(outcomes.keys())} in ${printDuration(tookMs)}.`,
    );
  } else if (code === EXIT_CANCELED) {
    const [done, stopped] = [count('done'), count('canceled')];
    const standing = `${partOf(done, outcomes.keys())} ${inNumber(done, 'is', 'are')} done, ${counted(stopped, 'was', 'were')} stopped on the way`;
    terminal.log('warn', `Stopped: ${standing}. Nothing was undone; proxwright ${command} goes on from here.`);
  } else {
    const parts = [
      [count('failed'), 'failed'],
      [count('notReady'), 'not ready in time (kept)'],
      [count('skipped'), 'not begun'],
    ] as const;
    const words = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
    const hard = command === 'destroy' ? ', and with --stop it pulls the plug of VMs that do not shut down' : '';
    terminal.log(
      'error',
      `${partOf(count('done'), outcomes.keys())} done; ${words.join(', ')}. What stands is kept; proxwright ${command} goes on from here${hard}.`,
    );
  }
  return code;
}
