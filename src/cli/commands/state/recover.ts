/** `proxwright state recover`: rebuilds a lost state from the ownership lines in the VMs' notes. */
import { counted } from '../../../base/values/units.ts';
import { readStateIfSound, replaceState } from '../../../engine/state-edit.ts';
import { recoverState } from '../../../engine/take-over.ts';
import type { CommandDeps, ExitCode } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { connect } from '../../stack/connect.ts';
import { openStack } from '../../stack/open.ts';
import { editDeps } from '../../stack/run.ts';
import { toType } from '../../terminal.ts';
import { countVms, stateView } from '../../views/state.ts';
import type { StateOptions } from './state.ts';

export async function runStateRecover(options: StateOptions, deps: CommandDeps): Promise<ExitCode> {
  const opened = await openStack(options, deps);
  const { stack, store } = opened;
  const pve = await connect(opened, deps);
  try {
    const recorded = await readStateIfSound(store, stack.name);
    const recovery = await recoverState({ pve, clock: deps.clock, stack, state: recorded });
    const { state, found, learned } = recovery;
    stateView(deps).recovery(recovery);
    if (found.length + learned.length === 0) {
      deps.terminal.success('Nothing to recover: the state contains every VM of this stack that the cluster shows.');
      return 0;
    }
    const question = found.length > 0 ? `Add ${counted(found.length, 'VM')} to the state?` : 'Record these addresses?';
    await requireConsent(deps, options, 'state recover', question);
    await replaceState(await editDeps(opened, deps, 'state recover'), state);
    deps.terminal.success(
      found.length > 0
        ? `Recovered ${found.length} of ${countVms(state)}. To compare them with the file: ${toType(deps.terminal, 'plan')}`
        : `Recorded the addresses of ${counted(learned.length, 'VM')}. To show them: ${toType(deps.terminal, 'output')}`,
    );
    return 0;
  } finally {
    await pve.close();
  }
}
