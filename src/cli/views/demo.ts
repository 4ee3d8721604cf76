/** How the demo looks: in colour and motion on a terminal, as plain lines elsewhere, as JSON lines with --json. */
import type { Clock } from '../../base/clock.ts';
import { counted, printDuration } from '../../base/values/units.ts';
import type { OutputValues } from '../../engine/outputs/contract.ts';
import type { Plan } from '../../kinds/change.ts';
import type { Finding } from '../../kinds/doctor/finding.ts';
import type { CommandDeps } from '../command.ts';
import type { KilledRun } from '../commands/demo/scene.ts';
import { renderFindings } from './check/doctor.ts';
import { renderPlan, renderTotals } from './plan/plan.ts';
import { createLiveArea } from './run/live.ts';
import { jsonView, lineView, liveView, type RunView } from './run/run-view.ts';
import { terminalAbove } from './run/screen.ts';
import { Timeline } from './run/timeline.ts';
import { type Paint, paintFor } from './text/paint.ts';
import { renderTable } from './text/table.ts';
import { chooseView, type HumanScreen } from './view.ts';

export interface DemoCheck {
  readonly what: string;
  readonly desired: string;
  readonly observed: string;
  readonly isGood: boolean;
  /** The template's value, if it differs. */
  readonly template?: string;
}

export interface DemoVm {
  readonly name: string;
  readonly vmid: number;
  readonly checks: readonly DemoCheck[];
}

export interface DemoFacts {
  readonly vms: number;
  readonly speed: number;
  readonly cloneSeconds: number;
}

export interface AppliedFacts {
  readonly vms: number;
  /** Tasks of the cluster that cloned something. */
  readonly clones: number;
  readonly clusterMs: number;
  readonly realMs: number;
}

export interface DemoView {
  welcome(facts: DemoFacts): void;
  doctor(findings: readonly Finding[]): void;
  plan(plan: Plan): void;
  /** Shows the run on `clock`, which is the cluster's. */
  apply(plan: Plan, clock: Clock): RunView;
  killed(facts: KilledRun): void;
  applied(facts: AppliedFacts): void;
  verification(vms: readonly DemoVm[]): void;
  secondPlan(plan: Plan): void;
  outputs(values: OutputValues, text: string): void;
  farewell(isGood: boolean): void;
}

export function demoView(deps: CommandDeps): DemoView {
  return chooseView<DemoView>(deps, {
    human: (screen) => new DemoText(screen, deps),
    json: ({ terminal, print }) => ({
      welcome: () => {},
      doctor: (findings) => print({ type: 'doctor', findings }),
      plan: (plan) => print({ type: 'plan', plan }),
      apply: (plan) => jsonView(timelineOf(plan), terminal, print),
      killed: (facts) => print({ type: 'killed', ...facts }),
      applied: () => {},
      verification: (vms) => print({ type: 'verification', vms }),
      secondPlan: (plan) => print({ type: 'plan', plan }),
      outputs: (values) => print({ type: 'outputs', values }),
      farewell: (ok) => print({ type: 'result', ok }),
    }),
  });
}

const timelineOf = ({ steps }: Plan) => new Timeline(steps.map(({ address }) => address));

const WIDTH = 78;

/** Numbers its chapters as they come. */
class DemoText implements DemoView {
  readonly #screen: HumanScreen;
  readonly #deps: Pick<CommandDeps, 'stdout' | 'stderr' | 'clock' | 'level' | 'secrets'>;
  readonly #paint: Paint;
  #chapter = 0;
  #wasKilled = false;

  constructor(screen: HumanScreen, deps: Pick<CommandDeps, 'stdout' | 'stderr' | 'clock' | 'level' | 'secrets'>) {
    this.#screen = screen;
    this.#deps = deps;
    this.#paint = screen.paint;
  }

  welcome({ vms, speed, cloneSeconds }: DemoFacts): void {
    const paint = this.#paint;
    this.#screen.print([
      '',
      paint('bold', '  Proxwright') + paint('dim', '  virtual machines on Proxmox VE, declared once, applied reliably'),
      '',
      `  This process simulates a Proxmox VE cluster, ${speed} times faster than real time.`,
      `  Its template has 2 cores, 2 GiB and a small disk; a full clone takes ${cloneSeconds} s.`,
      `  The stack file declares ${counted(vms, 'VM')} with 4 cores, 8 GiB and 100 GiB, and addresses in a VLAN.`,
    ]);
  }

  doctor(findings: readonly Finding[]): void {
    this.#title('doctor', 'checks server, token and cluster before anything is changed');
    this.#lines(renderFindings(findings, this.#paint));
  }

  plan(plan: Plan): void {
    this.#title('plan', 'what apply would change, and why');
    this.#lines(renderPlan(plan, this.#paint));
  }

  apply(plan: Plan, clock: Clock): RunView {
    const words = this.#wasKilled
      ? 'the same command again: it resumes'
      : 'clone, configure, resize, read back and compare, start, wait until ready';
    this.#title('apply', words);
    const timeline = timelineOf(plan);
    const { stderr, secrets, clock: frames } = this.#deps;
    if (stderr.isTTY !== true) return lineView(timeline, this.#screen.terminal);
    // The animation runs in real time.
    const area = createLiveArea(stderr, secrets);
    const terminal = terminalAbove({ ...this.#deps, terminal: this.#screen.terminal }, area);
    return liveView({ timeline, terminal, area, paint: paintFor(stderr), clock, frames });
  }

  killed({ cloned, cloning }: KilledRun): void {
    this.#wasKilled = true;
    this.#lines([
      '',
      this.#paint('red', `✖ kill -9, with ${counted(cloned, 'VM')} cloned and Proxmox copying the disk of ${cloning}.`),
      'The process is gone in mid-step. It leaves its lock and its journal, and the clone task still runs.',
    ]);
  }

  applied({ vms, clones, clusterMs, realMs }: AppliedFacts): void {
    const words = `${counted(vms, 'VM')} created in ${printDuration(clusterMs)} of cluster time, ${printDuration(realMs)} of real time.`;
    const proof = `Proxmox ran ${counted(clones, 'clone')} for ${counted(vms, 'VM')}: the second apply repeated nothing.`;
    const isProven = clones === vms;
    this.#lines(['', ...[words, ...(isProven ? [proof] : [])].map((line) => this.#paint('green', `✔ ${line}`))]);
  }

  verification(vms: readonly DemoVm[]): void {
    this.#title('verify', 'reads the configuration from the server, and the network from each guest');
    const head = [' ', 'VM', 'id', ...(vms[0]?.checks.map(({ what }) => what) ?? [])];
    const rows = vms.map(({ name, vmid, checks }) => [
      checks.every(({ isGood }) => isGood) ? this.#paint('green', '✔') : this.#paint('red', '✖'),
      name,
      String(vmid),
      ...checks.map((check) => this.#cell(check)),
    ]);
    const changed = vms[0]?.checks.filter(({ template }) => template !== undefined) ?? [];
    const words = changed.map(({ what, desired, template }) => `${what} ${desired} instead of ${template}`);
    this.#lines([
      ...renderTable(head, rows, this.#paint),
      '',
      this.#paint('dim', `Different from the template: ${words.join(', ')}.`),
    ]);
  }

  #cell({ isGood, desired, observed }: DemoCheck): string {
    return isGood ? observed : this.#paint('red', `${observed} (should be ${desired})`);
  }

  secondPlan(plan: Plan): void {
    this.#title('plan', 'the same file again');
    this.#lines([renderTotals(plan, this.#paint)]);
  }

  outputs(_values: OutputValues, text: string): void {
    this.#title('output', 'for other tools; also as JSON, environment variables or an Ansible inventory');
    this.#lines(text.trimEnd().split('\n'));
  }

  farewell(isGood: boolean): void {
    const next = (command: string, words: string) => `  ${this.#paint('cyan', command.padEnd(36))}${words}`;
    this.#lines([
      '',
      isGood
        ? this.#paint('green', 'The cluster matches the file, and the second plan is empty.')
        : this.#paint('red', 'The cluster does not match the file.'),
      '',
      'Next:',
      next('proxwright init --example rancher', 'the stack file of this demo, with comments'),
      next('proxwright sim', 'a simulated cluster to try it on'),
      next('proxwright doctor', 'check that your own Proxmox is ready'),
      next('proxwright plan', 'on your own Proxmox; changes nothing'),
      '',
    ]);
  }

  #title(command: string, words: string): void {
    this.#chapter++;
    const title = `${this.#chapter}  proxwright ${command}`;
    const rule = '─'.repeat(Math.max(0, WIDTH - title.length - 6));
    this.#screen.print(['', this.#paint('cyan', `── ${title} ${rule}`), this.#paint('dim', `  ${words}`), '']);
  }

  /** Indented by two columns. */
  #lines(lines: readonly string[]): void {
    this.#screen.print(lines.map((line) => (line === '' ? line : `  ${line}`)));
  }
}
