/** `vm.ready`: waits until the guest is up, and records its addresses and that it runs as the file says. */
import type { Action } from '../../action.ts';
import { readyTarget } from '../ready/checks.ts';
import { waitUntilReady } from '../ready/wait.ts';
import type { ReadyInput } from '../steps.ts';
import { knownVm } from './look.ts';

export const awaitReady: Action<ReadyInput> = async (context, { checks, nics }) => {
  const vm = knownVm(context);
  const target = readyTarget(context.address, { nics }, vm);
  const { addresses } = await waitUntilReady(context, target, checks);
  await context.learn({ addresses, lastApplied: { ...knownVm(context).lastApplied, power: 'running' } });
};
