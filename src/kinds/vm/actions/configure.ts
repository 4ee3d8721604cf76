/**
 * The configuration of a VM. `vm.configure` sends one write with everything that differs, guarded by the digest of the
 * read it was built from, and takes back what a failed write left pending. `vm.resize` grows a disk. `vm.verify` reads the
 * VM back and compares everything; only then is it complete and may be started.
 */
import { hasCode, isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { exactText } from '../../../base/text/safe-text.ts';
import { printByteSize } from '../../../base/values/units.ts';
import { type FormParams, isConnectionLost, isOutcomeUnknown, printSize } from '../../../pve/index.ts';
import { patiently } from '../../safety/rounds.ts';
import { isTaskUnended, runTask } from '../../safety/tasks.ts';
import type { DesiredValue } from '../config/desired.ts';
import { isDriveKey, parseDrive } from '../config/disks.ts';
import { unpackDesired } from '../config/packed.ts';
import { macsOf } from '../config/parts.ts';
import { type ConfigWrite, configureWrites } from '../config/writes.ts';
import { actualOf, mergedText, unsatisfied } from '../diff/merge.ts';
import { vmName } from '../identity.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { withoutLineage } from '../ownership.ts';
import type { ConfigureInput, ResizeInput, VerifyInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { nameLeftSources } from './disks/move-disk.ts';
import { changeEnded, forgetObserved, inRounds, knownVm, lastLook, look } from './safety/look.ts';

export const configure: VmAction<ConfigureInput> = async (context, input) => {
  // A secret is sent once: its value cannot be read back, so nothing shows whether it still has to be sent.
  const secrets = new Set(input.secrets ?? []);
  let attempt: Attempt | undefined;
  await inRounds(context, 'configure', async () => {
    const vm = await lastLook(context);
    const [write, ...later] = configureWrites(desiredValuesOf(context, input.desired), vm, secrets);
    if (!write) return 'done';
    attempt ??= { before: vm, keys: new Set() };
    await send(context, vm, write, attempt);
    attempt = undefined;
    for (const key of Object.keys(write.set)) secrets.delete(key);
    // Later writes need a fresh read: the first one has changed what they are built from.
    return later.length > 0 ? 'again' : 'done';
  });
};

/** Everything tried since the last write that succeeded; a failure reverts all of it. */
interface Attempt {
  readonly before: VmObserved;
  readonly keys: Set<string>;
}

/** The desired values of a step, completed with what is now known about the VM. */
export function desiredValuesOf(context: VmContext, desired: ConfigureInput['desired']): DesiredValue[] {
  const { vmid, uuid, nonce, seed } = knownVm(context);
  const { stack, lineage, address } = context;
  const known = { stack, lineage, address, vmid, uuid, nonce, seedVolume: seed?.volid };
  return unpackDesired(desired, { ...known, secret: (key) => context.secret(key) });
}

async function send(context: VmContext, vm: VmObserved, write: ConfigWrite, attempt: Attempt): Promise<void> {
  const keys = [...Object.keys(write.set), ...write.delete];
  for (const key of keys) attempt.keys.add(key);
  const { node, vmid } = vm;
  const params: FormParams = {
    ...write.set,
    digest: vm.digest,
    ...(write.delete.length > 0 && { delete: write.delete.join(',') }),
    ...(write.destroysVolumes && { force: true }),
  };
  await context.intend({ vmid, node, keys }, { phase: 'incomplete' });
  context.progress('configure');
  context.log.log('debug', `${context.address}: configuration write begins: ${keys.join(', ')}`, { vmid, keys });
  const startedAt = context.clock.ticks();
  const handle = context.pve.node(node).vm(vmid).config;
  const { signal } = context;
  context.observed.acted = true;
  try {
    if (write.touchesDrives) {
      await runTask(context, {
        what: 'configure',
        node,
        vmid,
        type: 'qmconfig',
        // Proxmox may create and copy volumes, which takes as long as a clone.
        timeoutMs: context.timeouts.cloneMs,
        send: () => handle.post(params, { signal }),
      });
    } else {
      await handle.put(params, { signal });
    }
  } catch (error) {
    throw await afterFailure(context, attempt, error);
  }
  forgetObserved(context);
  const tookMs = context.clock.ticks() - startedAt;
  context.log.log('debug', `${context.address}: configuration written`, { tookMs });
}

/** The error to throw. Where the failure is certain, nothing of the write stays pending. */
async function afterFailure(context: VmContext, attempt: Attempt, error: unknown): Promise<unknown> {
  forgetObserved(context);
  if (isCanceled(error)) return error;
  // If the outcome is unknown, the next read decides: pending values may be desired, and a running task still works on
  // them.
  if (isConnectionLost(error) || isOutcomeUnknown(error) || isTaskUnended(error)) return error;
  if (hasCode(error, 'CONFIG_CHANGED')) return error;
  if (isFamily(error, 'busy') && !(await isHalfDone(context, attempt))) return error;
  const note = await revertOurs(context, attempt.before, [...attempt.keys]);
  return note === '' || !(error instanceof ProxwrightError) ? error : error.with({ addedDetail: note });
}

/** A lock on the VM stops a write before it changes anything; a lock on a storage may stop it halfway. */
async function isHalfDone(context: VmContext, { before, keys }: Attempt): Promise<boolean> {
  const now = await look(context);
  return now.digest !== before.digest && [...keys].some((key) => now.pending.has(key) || now.pendingDeletes.has(key));
}

/**
 * Reverts what a failed write left behind. Proxmox saves keys one by one, so some of ours may be pending and would take
 * effect with the next change by any client. Volumes made for them are removed. Returns sentences for the error.
 */
async function revertOurs(context: VmContext, before: VmObserved, keys: readonly string[]): Promise<string> {
  try {
    const reverted = await takeBack(context, before, keys);
    return reverted.length === 0 ? '' : `The pending changes it left were taken back: ${reverted.join(', ')}.`;
  } catch (error) {
    if (isCanceled(error)) throw error;
    const reason = error instanceof ProxwrightError ? error.diagnostic.detail : String(error);
    return `Some changes may still be pending (${keys.join(', ')}), because taking them back failed: ${reason}`;
  }
}

async function takeBack(context: VmContext, before: VmObserved, keys: readonly string[]): Promise<string[]> {
  const reverted = new Set<string>();
  const volumes = new Set<string>();
  await inRounds(context, 'revert', async () => {
    const now = await look(context);
    const left = leftPending(before, now, keys);
    for (const key of left) {
      const text = isDriveKey(key) ? now.pending.get(key) : undefined;
      if (text !== undefined && text !== before.current.get(key)) volumes.add(parseDrive(key, text).file);
    }
    // Volumes of ours that the revert detached; one that existed before belongs to another client.
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

/** Our keys, and the boot order that follows them, that are pending now and were not before. */
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

export const resizeDisk: VmAction<ResizeInput> = (context, { slot, sizeBytes }) =>
  inRounds(context, `resize ${slot} of`, async () => {
    const vm = await lastLook(context);
    const text = vm.pending.get(slot) ?? vm.current.get(slot);
    if (text === undefined) {
      throw new ProxwrightError({
        code: 'NOT_FOUND',
        detail: `${vmName(vm)} has no disk ${slot} to grow to ${printByteSize(sizeBytes)}.`,
        where: { address: context.address },
        hint: 'Make a new plan: it will show the disk as missing.',
      });
    }
    if ((parseDrive(slot, text).sizeBytes ?? 0) >= sizeBytes) return 'done';
    const { node, vmid, digest } = vm;
    await context.intend({ vmid, node, slot, sizeBytes }, { phase: 'incomplete' });
    context.progress(`resize ${slot}`);
    const size = printSize(sizeBytes);
    context.observed.acted = true;
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

export const verifyVm: VmAction<VerifyInput> = async (context, { desired, applied, finishes }) => {
  context.progress('verify');
  const vm = await patiently(context, () => look(context));
  const desiredValues = desiredValuesOf(context, desired);
  const differences = differencesOf(desiredValues, vm);
  if (differences.length > 0) {
    throw new ProxwrightError({
      code: 'CONFIG_CHANGED',
      detail: [`${vmName(vm)} differs from what was written:`, ...differences].join('\n'),
      where: { address: context.address },
      hint: 'Another client changed it, or Proxmox stored something else. Make a new plan to see which.',
    });
  }
  await nameLeftSources(context, vm);
  const template = finishes && context.recorded()?.template;
  await context.learn({
    phase: 'complete',
    // Without a power state, a restart or a start is still to come.
    ...('power' in applied && changeEnded(context)),
    macs: macsOf(vm.current),
    lastApplied: { ...applied, ...ownershipApplied(desiredValues) },
    ...(template && { template: { ...template, finished: true }, name: vm.current.get('name') ?? '' }),
  });
  context.log.log('debug', `${context.address}: read back and as desired`, { vmid: vm.vmid, keys: desired.length });
};

const NOTHING = '(nothing)';

function differencesOf(desiredValues: readonly DesiredValue[], vm: VmObserved): string[] {
  const values = effectiveValues(vm);
  return unsatisfied(desiredValues, values).map((one) => {
    const { key, desired } = one;
    const actual = actualOf(one, values);
    // A secret differs only when the key is absent, so no value is shown.
    const merged = desired.kind === 'secret' ? '•••' : mergedText(key, desired, actual);
    const expected = merged === undefined ? NOTHING : exactText(merged);
    const observed = actual === undefined ? NOTHING : exactText(actual);
    return `  ${key}: observed ${observed}, desired ${expected}${sizeOf(desired)}`;
  });
}

/** The ownership line of a new VM was not known when the plan was made. */
function ownershipApplied(desiredValues: readonly DesiredValue[]): Record<string, unknown> {
  const notes = desiredValues.find(({ desired }) => desired.kind === 'notes')?.desired;
  return notes?.kind === 'notes' ? { ownership: notes.line === undefined ? null : withoutLineage(notes.line) } : {};
}

/** A write does not contain the size of an existing disk. */
function sizeOf(desired: DesiredValue['desired']): string {
  return desired.kind === 'disk' && desired.sizeBytes !== undefined ? ` with at least ${desired.sizeBytes} bytes` : '';
}
