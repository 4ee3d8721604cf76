/** `proxwright drain` and `proxwright rebalance`: plans that move VMs to other nodes. */
import { relocationPlan } from '../../../engine/plan.ts';
import type { Relocation } from '../../../kinds/kind.ts';
import type { CommandDeps, ExitCode } from '../../command.ts';
import { type AskedOptions, runAsked } from './asked-plan.ts';

import { type HookOptions, hookChoice } from './plan.ts';

export interface RelocateCommandOptions extends AskedOptions, HookOptions {
  readonly allowRestart?: boolean;
  readonly targetStorage?: string;
}

export function runDrain(node: string, options: RelocateCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  return relocate({ kind: 'drain', node }, options, deps);
}

export function runRebalance(options: RelocateCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  return relocate({ kind: 'rebalance' }, options, deps);
}

function relocate(relocation: Relocation, options: RelocateCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  const { only = [], allowRestart = false, targetStorage } = options;
  return runAsked(
    {
      command: relocation.kind,
      typed: relocation.kind === 'drain' ? `drain ${relocation.node}` : 'rebalance',
      question: { text: 'Move these VMs?', refused: 'Nothing was moved.' },
      nothing: nothingToDo(relocation),
      asked: relocationPlan({ relocation, only, allowRestart, targetStorage, hooks: hookChoice(options) }),
    },
    options,
    deps,
  );
}

function nothingToDo(relocation: Relocation): string {
  return relocation.kind === 'drain'
    ? `Nothing to move: no VM of this stack is on ${relocation.node}.`
    : 'Nothing to move: every VM is where the file places it.';
}
