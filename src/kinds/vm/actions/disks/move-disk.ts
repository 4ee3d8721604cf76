/**
 * `vm.move-disk`: copies a disk to another storage or format, in a running VM without an interruption. Proxmox deletes
 * the source last. If Proxmox could not delete the source, no drive uses it any more, so the action looks for it and
 * names it.
 */

import { hasCode, isFamily, ProxwrightError } from '../../../../base/errors.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { patiently } from '../../../safety/rounds.ts';
import { runTask } from '../../../safety/tasks.ts';
import { formatOfVolume, parseDrive, storageOf } from '../../config/disks.ts';
import { printPropertyOf, propertyOf } from '../../config/parts.ts';
import { vmName } from '../../identity.ts';
import type { VmObserved } from '../../observed.ts';
import type { MoveDiskInput } from '../../steps.ts';
import type { VmAction, VmContext } from '../context.ts';
import { forgetObserved, inRounds, lastLook } from '../safety/look.ts';

export const moveDisk: VmAction<MoveDiskInput> = async (context, input) => {
  let postponed: string | undefined;
  await inRounds(context, `move ${input.slot} of`, async () => {
    const vm = await lastLook(context);
    const { slot } = input;
    const text = vm.current.get(slot);
    if (text === undefined) throw noDisk(context, vm, slot);
    if (!isThere(slot, text, input)) {
      const pending = vm.pending.get(slot);
      // A pending change names the old volume, and the next start would go back to it.
      if (pending === undefined) await send(context, vm, text, input);
      else await write(context, vm, { revert: slot });
      postponed = pending ?? postponed;
      return 'again';
    }
    if (postponed === undefined) return 'done';
    const value = propertyOf(slot, postponed).without('size').with('file', parseDrive(slot, text).file);
    await write(context, vm, { [slot]: printPropertyOf(slot, value) });
    postponed = undefined;
    return 'done';
  });
};

function isThere(slot: string, text: string, { storage, format }: MoveDiskInput): boolean {
  const drive = parseDrive(slot, text);
  // On other storages the name of a volume does not show its format.
  const formatNow = formatOfVolume(drive);
  return storageOf(drive) === storage && (formatNow === undefined || format === undefined || format === formatNow);
}

async function send(context: VmContext, vm: VmObserved, text: string, input: MoveDiskInput): Promise<void> {
  const { slot, storage, format, kibPerSecond: bwlimit } = input;
  const { node, vmid, digest } = vm;
  const source = parseDrive(slot, text).file;
  const { movedFrom = [] } = context.recorded() ?? {};
  const sources = [...movedFrom.filter((volume) => volume !== source), source];
  await context.intend({ vmid, node, slot, source, storage }, { phase: 'incomplete', movedFrom: sources });
  context.progress(`move ${slot} to ${storage}`);
  context.observed.acted = true;
  await runTask(context, {
    what: `move of ${slot} to ${storage}`,
    node,
    vmid,
    type: 'qmmove',
    timeoutMs: context.timeouts.diskMoveMs,
    withProgress: true,
    send: () =>
      context.pve
        .node(node)
        .vm(vmid)
        .moveDisk({ disk: slot, storage, format, bwlimit, delete: true, digest }, { signal: context.signal }),
  });
  forgetObserved(context);
}

/** The digest of the read guards it: Proxmox refuses it once another client has changed the VM. */
async function write(context: VmContext, vm: VmObserved, params: Readonly<Record<string, string>>): Promise<void> {
  const { node, vmid, digest } = vm;
  await context.intend({ vmid, node, keys: Object.values(params) }, { phase: 'incomplete' });
  context.observed.acted = true;
  await context.pve
    .node(node)
    .vm(vmid)
    .config.put({ ...params, digest }, { signal: context.signal });
  forgetObserved(context);
}

function noDisk(context: VmContext, vm: VmObserved, slot: string): ProxwrightError {
  return new ProxwrightError({
    code: 'NOT_FOUND',
    detail: `${vmName(vm)} has no disk ${slot} to move.`,
    where: { address: context.address },
    hint: 'Make a new plan: it will show the disk as missing.',
  });
}

/** Names the sources of moves that Proxmox did not delete, in this run or in one that was interrupted. */
export async function nameLeftSources(context: VmContext, vm: VmObserved): Promise<void> {
  const { movedFrom = [] } = context.recorded() ?? {};
  if (movedFrom.length === 0) return;
  const attached = new Map([...vm.current, ...vm.pending].map(([key, text]) => [text.split(',')[0] ?? '', key]));
  for (const volume of movedFrom) {
    const key = attached.get(volume);
    // The move failed, and the disk is where it was.
    if (key !== undefined && !key.startsWith('unused')) continue;
    if (key !== undefined)
      await warnOf(context, vm, volume, nodeCommand('qm disk unlink', [vm.vmid], { idlist: key, force: 1 }));
    else if (await exists(context, vm, volume)) await warnOf(context, vm, volume, nodeCommand('pvesm free', [volume]));
  }
  await context.learn({ movedFrom: [] });
}

async function exists(context: VmContext, { node, vmid }: VmObserved, volume: string): Promise<boolean> {
  const [storage = ''] = volume.split(':');
  try {
    const listed = await patiently(context, () =>
      context.pve.node(node).storage(storage).content.list({ vmid }, { signal: context.signal }),
    );
    return listed.some(({ volid }) => volid === volume);
  } catch (error) {
    if (!isFamily(error, 'auth') && !isFamily(error, 'api')) throw error;
    const reason = hasCode(error, 'PRIVILEGE_MISSING')
      ? `the token needs Datastore.Audit on /storage/${storage}.`
      : error.diagnostic.detail;
    context.log.log(
      'warn',
      `${context.address}: whether Proxmox deleted ${volume} after the move was not checked: ${reason}`,
    );
    return false;
  }
}

async function warnOf(context: VmContext, vm: VmObserved, volume: string, remove: string): Promise<void> {
  const { diagnostic } = new ProxwrightError({
    code: 'VOLUME_LEFT',
    detail: `${vmName(vm)} no longer uses ${volume}: its disk was moved, but Proxmox could not delete the source.`,
    where: { address: context.address },
    hint: `Remove it on ${vm.node}: ${remove}`,
  });
  await context.warn({ ...diagnostic, severity: 'warning' });
}
