/**
 * After a failed configuration write: Proxmox saves keys one by one, so some of ours may stand in the pending section and
 * would become real with the next change anybody makes. They are taken back, and volumes made for them are removed.
 */
import { isCanceled, ProxwrightError } from '../../../base/errors.ts';
import type { ActionContext } from '../../action.ts';
import { isDriveKey, parseDrive } from '../disks.ts';
import type { VmObserved } from '../observed.ts';
import { forgetObserved, look } from './look.ts';
import { inRounds } from './rounds.ts';

/** What was taken back, and what could not be, as sentences for the error. */
export async function revertOurs(context: ActionContext, before: VmObserved, keys: readonly string[]): Promise<string> {
  try {
    const reverted = await takeBack(context, before, keys);
    return reverted.length === 0 ? '' : `What it had left pending was taken back: ${reverted.join(', ')}.`;
  } catch (error) {
    if (isCanceled(error)) throw error;
    const reason = error instanceof ProxwrightError ? error.diagnostic.detail : String(error);
    return `Parts of it may still be pending (${keys.join(', ')}), because taking them back failed: ${reason}`;
  }
}

async function takeBack(context: ActionContext, before: VmObserved, keys: readonly string[]): Promise<string[]> {
  const reverted = new Set<string>();
  const volumes = new Set<string>();
  await inRounds(context, 'revert', async () => {
    const now = await look(context);
    const left = leftPending(before, now, keys);
    for (const key of left) {
      const text = isDriveKey(key) ? now.pending.get(key) : undefined;
      if (text !== undefined && text !== before.current.get(key)) volumes.add(parseDrive(key, text).file);
    }
    // A volume of ours that the revert detached; one that was there before is somebody's.
    const orphans = [...now.current]
      .filter(([key, text]) => key.startsWith('unused') && volumes.has(text) && !isListed(before, text))
      .map(([key]) => key);
    const handle = context.pve.node(now.node).vm(now.vmid).config;
    const { digest } = now;
    if (left.length > 0) await handle.put({ revert: left.join(','), digest }, { signal: context.signal });
    else if (orphans.length > 0) await handle.put({ delete: orphans.join(','), digest }, { signal: context.signal });
    else return 'done';
    for (const key of left) reverted.add(key);
    forgetObserved(context);
    return 'again';
  });
  if (reverted.size > 0) {
    context.log.log('warn', `${context.address}: reverted pending ${[...reverted].join(', ')} of a failed write`);
  }
  return [...reverted];
}

/** Of our keys, and of the boot order that follows them, those that are pending now and were not before. */
function leftPending(before: VmObserved, now: VmObserved, keys: readonly string[]): string[] {
  const wasPending = (key: string) => before.pending.has(key) || before.pendingDeletes.has(key);
  const isPending = (key: string) => now.pending.has(key) || now.pendingDeletes.has(key);
  return [...new Set([...keys, 'boot'])].filter((key) => isPending(key) && !wasPending(key));
}

function isListed(before: VmObserved, volume: string): boolean {
  return [...before.current.values(), ...before.pending.values()].some(
    (text) => text === volume || text.startsWith(`${volume},`),
  );
}
