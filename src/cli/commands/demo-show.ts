/** How the demo looks: in colours and motion on a terminal, as plain lines elsewhere, as JSON lines with --json. */

import type { Clock } from '../../base/clock.ts';
import { counted } from '../../base/count.ts';
import { atLevel, type Logger } from '../../base/log.ts';
import type { Finding } from '../../engine/doctor/finding.ts';
import type { OutputValues } from '../../engine/outputs/contract.ts';
import type { Change, Plan } from '../../engine/plan-types.ts';
import type { ResolvedStack } from '../../spec/index.ts';
import type { CommandHost } from '../command-host.ts';
import { renderFindings } from '../views/doctor-view.ts';
import { createLiveArea } from '../views/live.ts';
import { type Paint, paintFor } from '../views/paint.ts';
import { renderChange, renderTotals } from '../views/plan-view.ts';
import { jsonView, lineView, liveView, type RunView } from '../views/run-view.ts';
import { renderTable } from '../views/table.ts';
import { Timeline } from '../views/timeline.ts';
import type { DemoCheck, DemoVm } from './demo-checks.ts';
import { DEMO_CLONE_SECONDS } from './demo-world.ts';

const WIDTH = 78;

export class DemoShow {
  readonly #host: CommandHost;
  readonly #paint: Paint;
  #chapter = 0;

  constructor(host: CommandHost) {
    this.#host = host;
    this.#paint = paintFor(host.stdout);
  }

  /** Of a run that is shown anyway, only what went wrong is worth a line. */
  get log(): Logger {
    return this.#host.level === 'debug' ? this.#host.terminal : atLevel('warn', this.#host.terminal);
  }

  welcome(stack: ResolvedStack, speed: number): void {
    const paint = this.#paint;
    this.#lines(
      '',
      paint('bold', '  Proxwright') + paint('dim', '  virtual machines on Proxmox VE, declared once, applied reliably'),
      '',
      `  A Proxmox VE cluster is simulated in this process; its clock runs ${speed} times as fast as yours.`,
      `  It has a template of 2 cores, 2 GiB and a small disk, whose full clone takes ${DEMO_CLONE_SECONDS} s.`,
      `  The stack file asks for ${counted(stack.vms.length, 'VM')} of 4 cores, 8 GiB and 100 GiB, with addresses in a VLAN.`,
    );
  }

  doctor(findings: readonly Finding[]): void {
    if (this.#isJson({ type: 'doctor', findings })) return;
    this.#title('doctor', 'server, token and cluster, before anything is done');
    this.#lines(...renderFindings(findings, this.#paint).map(indented));
  }

  plan(plan: Plan): void {
    if (this.#isJson({ type: 'plan', plan })) return;
    this.#title('plan', 'what would happen, and why');
    const [first, ...others] = plan.changes;
    if (first) this.#lines(...renderChange(first, this.#paint).map(indented), '');
    this.#lines(
      ...others.map((change) => indented(this.#short(change))),
      '',
      indented(renderTotals(plan, this.#paint)),
    );
  }

  #short(change: Change): string {
    const [title = ''] = renderChange(change, this.#paint);
    return `${title}${this.#paint('dim', '  likewise')}`;
  }

  apply(plan: Plan, clock: Clock): RunView {
    const { terminal, stderr, json } = this.#host;
    const timeline = new Timeline(plan.steps.map(({ address }) => address));
    if (json) return jsonView(timeline, (object) => terminal.result(JSON.stringify(object)));
    this.#title('apply', 'clone, configure, grow, read back and compare, start, wait until ready');
    if (stderr.isTTY !== true) return lineView(timeline, terminal);
    // The picture moves on the viewer's time.
    return liveView({
      timeline,
      area: createLiveArea(stderr),
      paint: paintFor(stderr),
      clock,
      frames: this.#host.clock,
    });
  }

  applied(count: number, took: string, really: string): void {
    const words = `${counted(count, 'VM')} made in ${took} of the cluster's time, ${really} of yours.`;
    this.#lines('', indented(this.#paint('green', `✔ ${words}`)));
  }

  verification(vms: readonly DemoVm[]): void {
    if (this.#isJson({ type: 'verification', vms })) return;
    this.#title('verify', 'asked once more: the server for the configuration, each guest for its network');
    const head = [' ', 'VM', 'id', ...(vms[0]?.checks.map(({ what }) => what) ?? [])];
    const rows = vms.map(({ name, vmid, checks }) => [
      checks.every(({ isGood }) => isGood) ? this.#paint('green', '✔') : this.#paint('red', '✖'),
      name,
      String(vmid),
      ...checks.map((check) => this.#cell(check)),
    ]);
    const inherited = vms[0]?.checks.filter(({ template }) => template !== undefined) ?? [];
    const words = inherited.map(({ what, wanted, template }) => `${what} ${wanted} not ${template}`);
    this.#lines(
      ...renderTable(head, rows, this.#paint).map(indented),
      '',
      indented(this.#paint('dim', `Not the template's values: ${words.join(', ')}.`)),
    );
  }

  #cell({ isGood, found, wanted }: DemoCheck): string {
    return isGood ? found : this.#paint('red', `${found} (wanted ${wanted})`);
  }

  secondPlan(plan: Plan): void {
    if (this.#isJson({ type: 'plan', plan })) return;
    this.#title('plan', 'the same file once more');
    this.#lines(indented(renderTotals(plan, this.#paint)));
  }

  outputs(values: OutputValues, text: string): void {
    if (this.#isJson({ type: 'outputs', values })) return;
    this.#title('output', 'what others can build on; also as JSON, environment or Ansible inventory');
    this.#lines(...text.trimEnd().split('\n').map(indented));
  }

  farewell(isGood: boolean): void {
    if (this.#isJson({ type: 'result', ok: isGood })) return;
    const next = (command: string, words: string) => `    ${this.#paint('cyan', command.padEnd(36))}${words}`;
    this.#lines(
      '',
      isGood
        ? indented(this.#paint('green', 'Everything is as the file says, and the second plan is empty.'))
        : indented(this.#paint('red', 'Something is not as the file says.')),
      '',
      indented('Your turn:'),
      next('proxwright init --example rancher', 'the stack file of this demo, with comments'),
      next('proxwright sim', 'the same kind of cluster, to try it on'),
      next('proxwright doctor', 'is your own Proxmox ready for it?'),
      next('proxwright plan', 'on your own Proxmox: it changes nothing'),
      '',
    );
  }

  #title(command: string, words: string): void {
    this.#chapter++;
    const title = `${this.#chapter}  proxwright ${command}`;
    const rule = '─'.repeat(Math.max(0, WIDTH - title.length - 6));
    this.#lines('', `${this.#paint('cyan', `── ${title} ${rule}`)}`, this.#paint('dim', indented(words)), '');
  }

  #lines(...lines: readonly string[]): void {
    if (this.#host.json) return;
    for (const line of lines) this.#host.terminal.result(line);
  }

  /** With --json the object is all there is to show. */
  #isJson(object: Readonly<Record<string, unknown>>): boolean {
    if (this.#host.json) this.#host.terminal.result(JSON.stringify(object));
    return this.#host.json;
  }
}

const indented = (line: string) => (line === '' ? line : `  ${line}`);
