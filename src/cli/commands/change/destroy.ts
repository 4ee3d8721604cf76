/** `proxwright destroy`: destroys what this stack owns and nothing else; asks for the stack's name first. */
import { kindOf } from '../../../base/address.ts';
import { canceled } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { counted } from '../../../base/values/units.ts';
import type { StackState } from '../../../kinds/recorded.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { needsYes } from '../../consent.ts';
import { resumingWords } from '../../evidence/typed-command.ts';
import { openStack } from '../../stack/open.ts';
import { checkPlanning, requirePlan } from '../../stack/planning.ts';
import { conclusionOf, withStackRun } from '../../stack/run.ts';
import { destroyView } from '../../views/change/apply.ts';
import { showProblems } from '../../views/view.ts';

export interface DestroyOptions extends StackOptions {
  readonly yes?: boolean;
  readonly only?: readonly string[];
  readonly stop?: boolean;
  readonly refuseRunning?: boolean;
  readonly all?: boolean;
  readonly destroyData?: readonly string[];
}

export async function runDestroy(options: DestroyOptions, outerDeps: CommandDeps): Promise<ExitCode> {
  if (options.stop && options.refuseRunning) throw contradiction();
  if (!options.yes && !outerDeps.canAsk)
    throw needsYes('destroy', advice`To destroy without a question: ${command('destroy', '--yes')}`);
  const opened = await openStack(options, outerDeps);
  const running = options.stop ? 'stop' : options.refuseRunning ? 'refuse' : 'shutdown';
  return withStackRun(opened, outerDeps, 'destroy', async (run) => {
    const { deps, session } = run;
    const { stack } = opened;
    const only = options.only ?? [];
    const { destroyData = [] } = options;
    checkPlanning({ only, destroyData }, stack, session.state);
    const all = options.all === true;
    const plan = requirePlan(await session.planDestroy({ only, running, all, destroyData }), deps);
    showProblems(plan.warnings, deps);
    const view = destroyView(deps);
    view.plan(plan);
    const kept = keptWords(session.state, options);
    if (plan.changes.length === 0) {
      deps.terminal.success(
        `Nothing to destroy: the state of this stack contains no VM.${kept === '' ? '' : ` ${kept}`}`,
      );
      return 0;
    }
    if (!options.yes) {
      const answer = await deps.ask(
        `\nThis also destroys their disks. Type the name of the stack, ${stack.name}, to confirm: `,
      );
      if (answer?.trim() !== stack.name) throw canceled('Nothing was destroyed.');
    }
    if (kept !== '') deps.terminal.log('info', kept);
    // The result names VMs that the state no longer contains afterwards.
    const before = session.state;
    const conclusion = conclusionOf('destroy', await run.execute(plan), opened, before, plan);
    const resume = ['destroy', ...resumingWords(options)];
    view.concluded({ ...conclusion, resume, stopsHard: options.stop === true });
    return conclusion.code;
  });
}

/** Other stacks may use templates and images. */
function keptWords({ vms, files }: StackState, { all, only = [] }: DestroyOptions): string {
  const templates = Object.keys(vms).filter((address) => kindOf(address) !== 'vm').length;
  const images = Object.keys(files).length;
  if (all || only.length > 0 || templates + images === 0) return '';
  const parts = [
    ...(templates > 0 ? [counted(templates, 'template')] : []),
    ...(images > 0 ? [counted(images, 'image')] : []),
  ];
  return `Kept: ${parts.join(' and ')} of this stack. To destroy them as well, add --all.`;
}

function contradiction() {
  return badOption(
    '--stop --refuse-running',
    '--stop and --refuse-running cannot be used together.',
    'Use one of them. Without either, running VMs are shut down first.',
  );
}
