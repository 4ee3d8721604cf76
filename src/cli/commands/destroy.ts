/** `proxwright destroy`: takes away what is ours and nothing else; asks for the stack's name first. */
import { kindOf } from '../../base/address.ts';
import { counted } from '../../base/count.ts';
import { canceled, ProxwrightError } from '../../base/errors.ts';
import type { StackState } from '../../state/stack-state.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { conclude } from '../conclusion.ts';
import { needsYes } from '../consent.ts';
import { checkPlanning, requirePlan } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { withStackRun } from '../stack-session.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';

export interface DestroyOptions extends StackOptions {
  readonly yes?: boolean;
  readonly only?: readonly string[];
  readonly stop?: boolean;
  readonly refuseRunning?: boolean;
  readonly all?: boolean;
}

export async function runDestroy(options: DestroyOptions, outerHost: CommandHost): Promise<ExitCode> {
  if (options.stop && options.refuseRunning) throw contradiction();
  if (!options.yes && !outerHost.canAsk) throw needsYes('destroy');
  const stackHost = await openStack(options, outerHost);
  const running = options.stop ? 'stop' : options.refuseRunning ? 'refuse' : 'shutdown';
  return withStackRun(stackHost, outerHost, 'destroy', async (run) => {
    const { host, session } = run;
    const { stack } = stackHost;
    const only = options.only ?? [];
    checkPlanning({ only }, stack, session.state);
    const plan = requirePlan(await session.planDestroy({ only, running, all: options.all === true }), host);
    for (const warning of plan.warnings) host.terminal.diagnostic(warning);
    if (host.json) host.terminal.result(JSON.stringify({ type: 'plan', plan }));
    if (plan.changes.length === 0) {
      host.terminal.success(
        `Nothing to destroy: the state of this stack knows no VM.${keptWords(session.state, options)}`,
      );
      return 0;
    }
    if (!host.json) for (const line of renderPlan(plan, paintFor(host.stdout))) host.terminal.result(line);
    if (!options.yes) {
      const answer = await host.ask(`\nTheir disks are destroyed as well. Type the name of the stack, ${stack.name}: `);
      if (answer?.trim() !== stack.name) throw canceled('Nothing was destroyed.');
    }
    const kept = keptWords(session.state, options);
    if (kept !== '') host.terminal.log('info', kept.trim());
    // Afterwards nothing would be known of them.
    const before = session.state;
    return conclude(stackHost, before, await run.execute(plan), host, 'destroy');
  });
}

/** Other stacks may use them. */
function keptWords({ vms, files }: StackState, { all, only = [] }: DestroyOptions): string {
  const templates = Object.keys(vms).filter((address) => kindOf(address) !== 'vm').length;
  const images = Object.keys(files).length;
  if (all || only.length > 0 || templates + images === 0) return '';
  const parts = [
    ...(templates > 0 ? [counted(templates, 'template')] : []),
    ...(images > 0 ? [counted(images, 'image')] : []),
  ];
  return ` Kept: ${parts.join(' and ')} of this stack; --all takes them away as well.`;
}

function contradiction(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: '--stop --refuse-running' },
    detail: 'A VM that runs can be stopped hard or be left alone, not both.',
    hint: 'Give one of the two, or neither: then it is shut down first.',
  });
}
