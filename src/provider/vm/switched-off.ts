/**
 * A VM that is off because a restart of ours was broken off between its two halves. Whether a VM runs is not kept as the
 * configuration says: guests shut themselves down, and people switch them off. But what we switched off ourselves on the
 * way to something else has to run again, and who did it the server knows.
 */

import type { ResolvedVm } from '../../kinds/stack.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { parseUpid, type Upid } from '../../pve/index.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings } from '../surroundings.ts';
import { textOf } from './memory.ts';
import type { VmPrivate } from './private-state.ts';

const SWITCHES = /^qm(start|shutdown|stop|reboot|reset|suspend|resume)$/;
const OFF = /^qm(shutdown|stop)$/;
const ENOUGH = 50;

export function isSwitchOff(upid: Upid): boolean {
  return OFF.test(parseUpid(upid)?.type ?? '');
}

/** What is kept of a VM, as far as it counts for this configuration: only one that may be restarted was being restarted. */
export function keptFor({ fields }: ResolvedVm, kept: VmPrivate): VmPrivate {
  if (fields.restart === 'when_needed') return kept;
  const { switchedOff: _, ...rest } = kept;
  return rest;
}

/** Asks the server only where the VM ran when it was last seen, and does not now. */
export async function isSwitchedOff(
  { looks, signal }: Surroundings,
  state: CtyObject,
  kept: VmPrivate,
  { node, vmid, running }: VmObserved,
): Promise<boolean> {
  if (running || (textOf(state, 'power') ?? 'running') !== 'running') return false;
  if (kept.switchedOff) return true;
  if (textOf(state, 'status') !== 'running') return false;
  const tasks = await looks.node(node).tasks.list({ source: 'all', vmid, limit: ENOUGH }, { signal });
  const [last] = tasks.filter(({ type }) => SWITCHES.test(type)).sort((a, b) => b.starttime - a.starttime);
  return last !== undefined && isSwitchOff(last.upid) && parseUpid(last.upid)?.user === looks.principal;
}
