/** `proxwright state recover`: rebuilds what was lost from the lines that our VMs carry in their notes. */
import { counted } from '../../base/count.ts';
import { type Recovery, recoverState } from '../../engine/recover.ts';
import { readStateIfSound, replaceState } from '../../engine/state-edit.ts';
import type { StackState } from '../../state/stack-state.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { requireConsent } from '../consent.ts';
import { editDoors } from '../edit-doors.ts';
import { openStack } from '../stack-host.ts';
import { paintFor } from '../views/paint.ts';
import { renderTable } from '../views/table.ts';
import { countVms, type StateOptions } from './state.ts';

export async function runStateRecover(options: StateOptions, host: CommandHost): Promise<ExitCode> {
  const stackHost = await openStack(options, host);
  const { stack, store } = stackHost;
  const pve = await connect(stackHost, host);
  try {
    const known = await readStateIfSound(store, stack.name);
    const recovery = await recoverState({ pve, clock: host.clock, stack, state: known });
    const { state, found, learned } = recovery;
    report(recovery, host);
    const changed = [...found, ...learned];
    if (changed.length === 0) {
      host.terminal.success('Nothing to recover: the cluster shows no VM of this stack that the state does not know.');
      return 0;
    }
    if (!host.json) for (const line of renderFound(state, changed, host)) host.terminal.result(line);
    const question = found.length > 0 ? `Take ${counted(found.length, 'VM')} into the state?` : 'Keep these addresses?';
    await requireConsent(host, options, 'state recover', question);
    await replaceState(editDoors(stackHost, host, 'state recover'), state);
    host.terminal.success(
      found.length > 0
        ? `Recovered ${found.length} of ${countVms(state)}. See whether the file is true of them: proxwright plan`
        : `Learned the addresses of ${counted(learned.length, 'VM')}. See them: proxwright output`,
    );
    return 0;
  } finally {
    await pve.close();
  }
}

function report({ state, found, learned, notFound, remarks }: Recovery, host: CommandHost): void {
  for (const remark of remarks) host.terminal.log('warn', remark);
  for (const address of notFound) {
    host.terminal.log('warn', `${address} stands in no VM's notes; what the state knows of it is kept.`);
  }
  if (host.json) host.terminal.result(JSON.stringify({ found, learned, notFound, remarks, state }));
}

function renderFound(state: StackState, found: readonly string[], host: CommandHost): string[] {
  const rows = found.map((address) => {
    const vm = state.vms[address];
    const addresses = Object.entries(vm?.addresses ?? {}).map(([slot, [first = '']]) => `${slot} ${first}`);
    return [address, String(vm?.vmid ?? ''), vm?.name ?? '', vm?.node ?? '', vm?.phase ?? '', addresses.join(', ')];
  });
  return renderTable(['address', 'id', 'name', 'node', 'phase', 'IP address'], rows, paintFor(host.stdout));
}
