/**
 * What `apply` and `destroy` show besides live progress: the plan first, and at the end the result of every resource.
 */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { counted, inNumber, printDuration } from '../../../base/values/units.ts';
import { isPartial, type RollReport } from '../../../engine/record/roll-report.ts';
import type { Plan } from '../../../kinds/change.ts';
import type { StackState } from '../../../kinds/recorded.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import type { ResourceOutcome } from '../../../state/events.ts';
import { EXIT_CANCELED, type ExitCode } from '../../command.ts';
import type { Terminal } from '../../terminal.ts';
import { renderPlan } from '../plan/plan.ts';
import { countedKinds, partOf } from '../run/counted-kinds.ts';
import { renderSummary } from '../run/summary.ts';
import type { Timeline } from '../run/timeline.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface Conclusion {
  readonly command: keyof typeof VERBS;
  /** The words after `proxwright` that resume the run; the command alone by default. */
  readonly resume?: readonly string[];
  /** Whether the run stopped VMs hard. */
  readonly stopsHard?: boolean;
  readonly code: ExitCode;
  readonly outcomes: ReadonlyMap<string, ResourceOutcome>;
  readonly problems: ReadonlyMap<string, Diagnostic>;
  readonly tookMs: number;
  readonly timeline: Timeline;
  /** VMs that run with old values until they are restarted: `vm.web (memory)`. */
  readonly restartPending: readonly string[];
  /** Groups of which not all members that should be changed are changed and ready. */
  readonly rolls: readonly RollReport[];
  /** The VMs of the file. */
  readonly vms: readonly MachineView[];
  /** What is recorded of every VM, including those that are no longer in the file. */
  readonly recorded: StackState['vms'];
}

export interface ApplyView {
  plan(plan: Plan): void;
  concluded(conclusion: Conclusion): void;
}

export function applyView(deps: ViewDeps): ApplyView {
  return chooseView<ApplyView>(deps, {
    human: ({ terminal, print, paint }) => ({
      plan: (plan) => print(renderPlan(plan, paint)),
      concluded: (conclusion) => {
        const { timeline, vms, recorded } = conclusion;
        const others = Object.entries(recorded).map(([address, vm]) => ({ ...vm, address, ip: null }));
        print(renderSummary(timeline, [...others, ...vms], paint));
        report(conclusion, terminal);
      },
    }),
    json: ({ terminal, print }) => ({
      plan: (plan) => print({ type: 'plan', plan }),
      concluded: (conclusion) => {
        const { tookMs, vms, restartPending, rolls } = conclusion;
        const outcomes = Object.fromEntries(conclusion.outcomes);
        const applied = vms.filter((vm) => conclusion.outcomes.has(vm.address));
        const partial = rolls.filter(isPartial);
        const unfinished = partial.length > 0 && { rolls: partial };
        print({ type: 'result', tookMs, outcomes, vms: applied, restartPending, ...unfinished });
        report(conclusion, terminal);
      },
    }),
  });
}

/** Like `apply`, but without a plan for people if nothing is destroyed. */
export function destroyView(deps: ViewDeps): ApplyView {
  const { concluded } = applyView(deps);
  return chooseView<ApplyView>(deps, {
    human: ({ print, paint }) => ({
      plan: (plan) => print(plan.changes.length === 0 ? [] : renderPlan(plan, paint)),
      concluded,
    }),
    json: ({ print }) => ({ plan: (plan) => print({ type: 'plan', plan }), concluded }),
  });
}

/** Which members are new, which are old, and what continues. */
function describeRoll({ group, changed, failed, unchanged }: RollReport, resume: string): string {
  const named = (words: string, members: readonly string[]) =>
    members.length === 0 ? [] : [`${words}: ${members.join(', ')}`];
  const parts = [
    ...named('changed and ready', changed),
    ...named('not finished', failed),
    ...named('unchanged', unchanged),
  ];
  return `${group} is partly changed. ${capitalised(parts.join('; '))}. To continue: ${resume}`;
}

const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

const VERBS = {
  apply: 'Applied',
  destroy: 'Destroyed',
  drain: 'Moved',
  rebalance: 'Moved',
  'snapshot create': 'Snapshots taken',
  'snapshot delete': 'Snapshots deleted',
  rollback: 'Rolled back',
} as const;

/** The last message of a run. */
function report(
  {
    command,
    resume = command.split(' '),
    stopsHard = false,
    code,
    outcomes,
    tookMs,
    restartPending,
    rolls,
  }: Conclusion,
  terminal: Terminal,
): void {
  const typed = `proxwright ${resume.map(shellWord).join(' ')}`;
  for (const roll of rolls.filter(isPartial)) terminal.log('warn', describeRoll(roll, typed));
  const addresses = [...outcomes.keys()];
  const count = (outcome: ResourceOutcome) => [...outcomes.values()].filter((each) => each === outcome).length;
  const done = count('done');
  const advice = `Nothing was undone; run ${typed} again to resume`;
  if (code === 0) {
    const verb = VERBS[command];
    const pending = restartPending.length === 0 ? '' : ` Restart pending: ${restartPending.join(', ')}.`;
    terminal.success(`${verb}: ${countedKinds(addresses)} in ${printDuration(tookMs)}.${pending}`);
  } else if (code === EXIT_CANCELED) {
    const completed = `${partOf(done, addresses)} ${inNumber(done, 'is', 'are')} done`;
    const stopped = `${counted(count('canceled'), 'was', 'were')} stopped before completion`;
    terminal.log('warn', `Stopped: ${completed}, ${stopped}. ${advice}.`);
  } else {
    const parts = [
      [count('failed'), 'failed'],
      [count('notReady'), 'not ready in time (kept)'],
      [count('skipped'), 'not started'],
    ] as const;
    const words = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
    const hard = command === 'destroy' && !stopsHard ? ', and add --stop to stop VMs that do not shut down' : '';
    terminal.log('error', `${partOf(done, addresses)} done; ${words.join(', ')}. ${advice}${hard}.`);
  }
}
