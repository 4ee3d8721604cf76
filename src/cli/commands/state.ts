/** `proxwright state`: what is remembered of the stack's VMs, templates and images — to look at, to correct, to let go. */
import { counted } from '../../base/count.ts';
import { knownVm, moveAddress } from '../../engine/state-edit.ts';
import { recallState } from '../../state/recall.ts';
import type { StackState, VmState } from '../../state/stack-state.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { editDoors } from '../edit-doors.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { printValue } from '../views/plan-view.ts';
import { renderTable } from '../views/table.ts';
import { requireAddress } from './import.ts';

export interface StateOptions extends StackOptions {
  readonly yes?: boolean;
}

export function countVms({ vms }: StackState): string {
  return counted(Object.keys(vms).length, 'VM');
}

export async function runStateList(options: StateOptions, host: CommandHost): Promise<ExitCode> {
  const { stack, store } = await openStack(options, host);
  const { state, unfinished } = await recallState(store, stack.name);
  if (host.json) host.terminal.result(JSON.stringify(state));
  else if (Object.keys(state.vms).length + Object.keys(state.files).length === 0)
    host.terminal.log(
      'info',
      'The state knows nothing yet. Make it so: proxwright apply. If it was lost: proxwright state recover',
    );
  else for (const line of renderList(state, host)) host.terminal.result(line);
  if (unfinished.length > 0) host.terminal.log('warn', 'An earlier run has not ended: proxwright apply takes it up.');
  return 0;
}

function renderList(state: StackState, host: CommandHost): string[] {
  const machines = Object.entries(state.vms).map(([address, vm]) => [
    address,
    vm.name,
    String(vm.vmid || ''),
    vm.node,
    vm.phase,
    vm.uuid ?? '',
  ]);
  const files = Object.values(state.files).map(({ address, volid, node, incomplete }) => [
    address,
    volid,
    '',
    node,
    incomplete ? 'incomplete' : 'complete',
    '',
  ]);
  const rows = [...files, ...machines];
  return renderTable(['address', 'name', 'id', 'node', 'phase', 'uuid'], rows, paintFor(host.stdout));
}

/** Secrets are remembered as digests only, so there is nothing to hide. */
export async function runStateShow(address: string, options: StateOptions, host: CommandHost): Promise<ExitCode> {
  const { stack, store } = await openStack(options, host);
  const { state } = await recallState(store, stack.name);
  const file = Object.values(state.files).find((each) => each.address === address);
  if (file) {
    if (host.json) host.terminal.result(JSON.stringify(file));
    else for (const line of [paintFor(host.stdout)('bold', address), ...pairs(file)]) host.terminal.result(line);
    return 0;
  }
  const vm = knownVm(state, address);
  if (host.json) host.terminal.result(JSON.stringify(vm));
  else for (const line of renderVm(address, vm, host)) host.terminal.result(line);
  return 0;
}

function renderVm(address: string, vm: VmState, host: CommandHost): string[] {
  const paint = paintFor(host.stdout);
  const { lastApplied, macs, addresses, secrets, ...facts } = vm;
  const sections: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ['MAC addresses', macs],
    ['addresses', addresses],
    ['last applied', lastApplied],
    ['secrets (digests)', secrets],
  ];
  return [
    paint('bold', address),
    ...pairs(facts),
    ...sections.flatMap(([title, values]) =>
      Object.keys(values).length === 0 ? [] : [paint('bold', title), ...pairs(values)],
    ),
  ];
}

function pairs(values: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${printValue(value)}`);
}

export async function runStateMove(
  from: string,
  to: string,
  options: StateOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const stackHost = await openStack(options, host);
  const vm = await moveAddress(editDoors(stackHost, host, 'state mv'), from, requireAddress(to));
  if (host.json) host.terminal.result(JSON.stringify({ from, to, vmid: vm.vmid }));
  host.terminal.success(`VM ${vm.vmid} (${vm.name}) is ${to} now. The next apply writes that into its ownership line.`);
  const { stack, file } = stackHost;
  if (!stack.vms.some(({ address }) => address === to)) {
    host.terminal.log('warn', `${file} has no ${to}: rename it there as well. See what would happen: proxwright plan`);
  }
  return 0;
}
