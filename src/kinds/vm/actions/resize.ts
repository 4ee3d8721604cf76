/** `vm.resize`: grows a disk to an absolute size, which may be said twice without harm. */
import { ProxwrightError } from '../../../base/errors.ts';
import { printByteSize } from '../../../base/units.ts';
import { printSize } from '../../../pve/index.ts';
import type { Action } from '../../action.ts';
import { parseDrive } from '../disks.ts';
import { vmName } from '../identity.ts';
import type { ResizeInput } from '../steps.ts';
import { forgetObserved, lastLook } from './look.ts';
import { inRounds } from './rounds.ts';
import { runTask } from './tasks.ts';

export const resizeDisk: Action<ResizeInput> = (context, { slot, sizeBytes }) =>
  inRounds(context, `resize ${slot} of`, async () => {
    const vm = await lastLook(context);
    const text = vm.pending.get(slot) ?? vm.current.get(slot);
    if (text === undefined) {
      throw new ProxwrightError({
        code: 'NOT_FOUND',
        detail: `${vmName(vm)} has no disk ${slot} that could grow to ${printByteSize(sizeBytes)}.`,
        where: { address: context.address },
        hint: 'Make a new plan: it will show the disk as missing.',
      });
    }
    if ((parseDrive(slot, text).sizeBytes ?? 0) >= sizeBytes) return 'done';
    const { node, vmid, digest } = vm;
    await context.intend({ vmid, node, slot, sizeBytes }, { phase: 'incomplete' });
    context.progress(`resize ${slot}`);
    const size = printSize(sizeBytes);
    await runTask(context, {
      what: `resize of ${slot} to ${size}`,
      node,
      vmid,
      type: 'resize',
      timeoutMs: context.timeouts.cloneMs,
      send: () => context.pve.node(node).vm(vmid).resize({ disk: slot, size, digest }, { signal: context.signal }),
    });
    forgetObserved(context);
    return 'done';
  });
