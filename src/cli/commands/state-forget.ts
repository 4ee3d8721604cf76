/** `proxwright state forget`: lets go of a VM, with or without the line in its notes that says whose it is. */
import { canceled } from '../../base/errors.ts';
import { removeOwnershipNote } from '../../engine/ownership-note.ts';
import { type EditDoors, forgetAddress, knownVm } from '../../engine/state-edit.ts';
import { recallState } from '../../state/recall.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { requireConsent } from '../consent.ts';
import { editDoors } from '../edit-doors.ts';
import type { StackHost } from '../opened-stack.ts';
import { openStack } from '../stack-host.ts';
import { requireAddress } from './import.ts';
import type { StateOptions } from './state.ts';

export interface ForgetOptions extends StateOptions {
  readonly release?: boolean;
}

export async function runStateForget(address: string, options: ForgetOptions, host: CommandHost): Promise<ExitCode> {
  const stackHost = await openStack(options, host);
  const { state } = await recallState(stackHost.store, stackHost.stack.name);
  const { vmid, name } = knownVm(state, address);
  const what = options.release ? 'loses its ownership line and otherwise stays as it is' : 'stays as it is';
  const question = `VM ${vmid} (${name}) ${what}, but Proxwright forgets that it is ${address}. Go on?`;
  await requireConsent(host, options, `state forget '${address}'`, question);
  const doors = editDoors(stackHost, host, 'state forget');
  const isReleased = options.release === true && (await release(address, doors, stackHost, host));
  if (!options.release) await forgetAddress(doors, address);
  if (host.json) host.terminal.result(JSON.stringify({ forgotten: address, vmid, released: isReleased }));
  host.terminal.success(`${address} is forgotten. ${aftermath(address, vmid, options, isReleased)}`);
  return 0;
}

/** Whether there was a line to take away. */
async function release(address: string, doors: EditDoors, stackHost: StackHost, host: CommandHost): Promise<boolean> {
  const pve = await connect(stackHost, host);
  const controller = new AbortController();
  void host.stopRequested().then(() => controller.abort(canceled()));
  const note = { ...doors, pve, signal: controller.signal, log: host.terminal, stack: stackHost.stack };
  let isReleased = false;
  try {
    await forgetAddress(doors, address, async (memory) => {
      isReleased = await removeOwnershipNote(note, memory, requireAddress(address));
    });
    return isReleased;
  } finally {
    await pve.close();
  }
}

/** The line in the notes outlives our memory, and a plan that would make the VM again stops at it. */
function aftermath(address: string, vmid: number, { release: isWanted }: ForgetOptions, isReleased: boolean): string {
  if (isReleased) return `VM ${vmid} carries no ownership line any more: it is nobody's.`;
  if (isWanted) return `There was no VM ${vmid} of ours to take an ownership line from.`;
  return (
    `VM ${vmid} keeps the line in its notes that says whose it is. To take it over again: proxwright import '${address}' ${vmid}. ` +
    'To let it go for good, delete the line that begins with "proxwright:" from its notes; --release does that.'
  );
}
