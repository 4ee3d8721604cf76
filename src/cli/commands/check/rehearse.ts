/** `proxwright rehearse`: the apply on a simulated copy of the live cluster; what it will do, how long, and what would fail. */
import { resolve } from 'node:path';
import { commandText } from '../../../base/hint.ts';
import { readCluster } from '../../../rehearse/copy/read-cluster.ts';
import { onceEach, type WatchedReads } from '../../../rehearse/copy/watched-reads.ts';
import { type Rehearsal, rehearse } from '../../../rehearse/rehearse.ts';
import { savedWorld } from '../../../rehearse/saved-world.ts';
import { type Interruptions, interruptEverywhere, type Storms, weather } from '../../../rehearse/trial/interrupt.ts';
import { DirectoryStore } from '../../../state/directory-store.ts';
import { writePrediction } from '../../../state/prediction.ts';
import { chartOf } from '../../../ui/picture/chart.ts';
import { drawTimeline } from '../../../ui/picture/timeline.ts';
import { badOption, type CommandDeps, type ExitCode } from '../../command.ts';
import { connect } from '../../stack/connect.ts';
import { openStack } from '../../stack/open.ts';
import { planWithoutLock } from '../../stack/planning.ts';
import { rehearsalView } from '../../views/check/rehearse.ts';
import { writePrivateFile } from '../../write-file.ts';
import { type PlanningOptions, planOptions } from '../change/plan.ts';

export interface RehearseOptions extends PlanningOptions {
  readonly interrupt?: boolean;
  readonly at?: string;
  readonly faults?: string;
  readonly seed?: string;
  readonly save?: string;
  readonly anonymize?: boolean;
  readonly picture?: string;
}

export async function runRehearse(options: RehearseOptions, deps: CommandDeps): Promise<ExitCode> {
  const chosen = choicesOf(options);
  const opened = await openStack(options, deps);
  let reads: WatchedReads | undefined;
  const pve = await connect(opened, deps, {
    watch: (transport) => {
      reads = onceEach(transport, deps.clock);
      return reads.transport;
    },
  });
  const asked = planOptions(options);
  const { plan, state, observed, secrets } = await planWithoutLock(opened, deps, pve, asked);
  const { stack, store } = opened;
  const facts = await readCluster({ pve, stack, observed });
  await pve.close();
  const { clock } = deps;
  const latencyMs = reads?.latencyMs() ?? 0;
  const rehearsal = await rehearse({
    facts,
    stack,
    state,
    observed,
    plan,
    options: asked,
    secrets,
    store,
    clock,
    seed: String(chosen.seed),
    latencyMs,
  });
  const trials = rehearsal.ok ? await runTrials(rehearsal, chosen, deps) : {};
  if (options.save !== undefined) {
    const world = savedWorld(rehearsal.world, { anonymize: options.anonymize === true });
    await writePrivateFile(
      resolve(deps.directory, options.save),
      `${JSON.stringify(deps.secrets.redactIn(world), null, 2)}\n`,
      options.save,
    );
  }
  const { runId } = rehearsal.run;
  if (options.picture !== undefined) {
    const svg = drawTimeline(chartOf(rehearsal.run, clock.now()), { title: `Rehearsed apply of ${stack.name}` });
    await writePrivateFile(resolve(deps.directory, options.picture), deps.secrets.redact(svg), options.picture);
  }
  if (runId !== '') {
    const { events, fastestMs, slowestMs } = rehearsal;
    const madeAt = new Date(clock.now()).toISOString();
    // Next to the state on this machine: a rehearsal changes nothing in a shared store.
    await writePrediction(new DirectoryStore(opened.stateDirectory), { runId, madeAt, fastestMs, slowestMs, events });
  }
  rehearsalView(deps).rehearsal({ stack: stack.name, rehearsal, reads: reads?.sent.length ?? 0, ...trials });
  if (options.save !== undefined) {
    deps.terminal.log(
      'info',
      `Wrote the copy to ${options.save}. To serve it: ${commandText('sim', '--world', options.save)}`,
    );
  }
  const failures = [...(trials.interruptions?.failures ?? []), ...(trials.storms?.failures ?? [])];
  const isSame = rehearsal.planDifferences.length === 0;
  return rehearsal.ok && isSame && failures.length === 0 ? 0 : 1;
}

interface Choices {
  readonly interrupt: boolean;
  readonly at: number | undefined;
  readonly storms: number;
  readonly seed: number;
}

function choicesOf({ interrupt = false, at, faults, seed = '1', anonymize, save }: RehearseOptions): Choices {
  const whole = (option: string, text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value > 0) return value;
    throw badOption(option, `"${text}" is not a whole number above 0.`, `For example: ${option} 1`);
  };
  if (at !== undefined && !interrupt) throw badOption('--at', 'It chooses a point of --interrupt.', 'Add --interrupt.');
  if (anonymize && save === undefined) {
    throw badOption('--anonymize', 'It changes the file of --save.', 'Add --save FILE.');
  }
  return {
    interrupt,
    at: at === undefined ? undefined : whole('--at', at),
    storms: faults === undefined ? 0 : whole('--faults', faults),
    seed: whole('--seed', seed),
  };
}

async function runTrials(
  { stage }: Rehearsal,
  { interrupt, at, storms, seed }: Choices,
  { terminal }: CommandDeps,
): Promise<{ readonly interruptions?: Interruptions; readonly storms?: Storms }> {
  let said = 0;
  const onProgress = (what: string) => (done: number, all: number) => {
    const tenth = Math.floor((10 * done) / all);
    if (tenth === said || all < 20) return;
    said = tenth;
    terminal.log('info', `${what}: ${done} of ${all}`);
  };
  return {
    ...(interrupt && {
      interruptions: await interruptEverywhere(stage, { at, onProgress: onProgress('Interrupted') }),
    }),
    ...(storms > 0 && {
      storms: await weather(
        stage,
        Array.from({ length: storms }, (_, index) => seed + index),
        onProgress('Storms'),
      ),
    }),
  };
}
