/** `vm.configure`: one write that carries everything that differs, guarded by the digest of the read it was built from. */
import { hasCode, isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { printByteSize } from '../../../base/units.ts';
import { type FormParams, isOutcomeUnknown, isSightLost, printSize } from '../../../pve/index.ts';
import type { Action, ActionContext } from '../../action.ts';
import type { DesiredValue } from '../desired.ts';
import { actualOf, mergedText, unsatisfied } from '../diff/merge.ts';
import { isDriveKey, parseDrive } from '../disks.ts';
import { vmName } from '../identity.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { unpackDesired } from '../packed.ts';
import { macsOf } from '../parts.ts';
import type { ConfigureInput, ResizeInput, VerifyInput } from '../steps.ts';
import { type ConfigWrite, configureWrites } from '../writes.ts';
import { forgetObserved, inRounds, knownVm, lastLook, look, patiently } from './look.ts';
import { isTaskUnended, runTask } from './tasks.ts';

export const configure: Action<ConfigureInput> = async (context, input) => {
  // A secret is written once; afterwards there is no telling whether it is still to be sent.
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
    // What comes later has to be seen anew: the first write has changed what it rests on.
    return later.length > 0 ? 'again' : 'done';
  });
};

/** What was tried since the last write that is known to have worked: all of it is ours to take back. */
interface Attempt {
  readonly before: VmObserved;
  readonly keys: Set<string>;
}

/** The wishes of a step, filled in with what is known of the VM by now. */
export function desiredValuesOf(context: ActionContext, desired: ConfigureInput['desired']): DesiredValue[] {
  const { vmid, uuid, nonce, seed } = knownVm(context);
  const { stack, address } = context;
  const known = { stack, address, vmid, uuid, nonce, seedVolume: seed?.volid };
  return unpackDesired(desired, { ...known, secret: (key) => context.secret(key) });
}

async function send(context: ActionContext, vm: VmObserved, write: ConfigWrite, attempt: Attempt): Promise<void> {
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
  const startedAt = context.clock.now();
  const handle = context.pve.node(node).vm(vmid).config;
  const { signal } = context;
  try {
    if (write.touchesDrives) {
      await runTask(context, {
        what: 'configure',
        node,
        vmid,
        type: 'qmconfig',
        // Volumes may be made and copied: as much as a clone has to do.
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
  const tookMs = context.clock.now() - startedAt;
  context.log.log('debug', `${context.address}: configuration written`, { tookMs });
}

/** What to throw on; whatever it is, no half of ours stays pending where the failure is certain. */
async function afterFailure(context: ActionContext, attempt: Attempt, error: unknown): Promise<unknown> {
  forgetObserved(context);
  if (isCanceled(error)) return error;
  // In doubt the next look decides: what is pending may be wanted, and a task that has not ended is at work on it.
  if (isSightLost(error) || isOutcomeUnknown(error) || isTaskUnended(error)) return error;
  if (hasCode(error, 'CONFIG_CHANGED')) return error;
  if (isFamily(error, 'busy') && !(await isHalfDone(context, attempt))) return error;
  const note = await revertOurs(context, attempt.before, [...attempt.keys]);
  return note === '' || !(error instanceof ProxwrightError) ? error : error.with({ addedDetail: note });
}

/** A lock met at the door changes nothing; one met inside, on a storage, may. */
async function isHalfDone(context: ActionContext, { before, keys }: Attempt): Promise<boolean> {
  const now = await look(context);
  return now.digest !== before.digest && [...keys].some((key) => now.pending.has(key) || now.pendingDeletes.has(key));
}

/** What was taken back, and what could not be, as sentences for the error. */
async function revertOurs(context: ActionContext, before: VmObserved, keys: readonly string[]): Promise<string> {
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

export const verifyVm: Action<VerifyInput> = async (context, { desired, applied, finishes }) => {
  context.progress('verify');
  const vm = await patiently(context, () => look(context));
  const desiredValues = desiredValuesOf(context, desired);
  const differences = differencesOf(desiredValues, vm);
  if (differences.length > 0) {
    throw new ProxwrightError({
      code: 'CONFIG_CHANGED',
      detail: [`Read back, ${vmName(vm)} is not what was written:`, ...differences].join('\n'),
      where: { address: context.address },
      hint: 'Somebody else changed it meanwhile, or the server stored something else. Make a new plan to see which.',
    });
  }
  const template = finishes && context.recorded()?.template;
  await context.learn({
    phase: 'complete',
    macs: macsOf(vm.current),
    lastApplied: { ...applied, ...ownershipApplied(desiredValues) },
    ...(template && { template: { ...template, finished: true }, name: vm.current.get('name') ?? '' }),
  });
  context.log.log('debug', `${context.address}: read back and as wanted`, { vmid: vm.vmid, keys: desired.length });
};

function differencesOf(desiredValues: readonly DesiredValue[], vm: VmObserved): string[] {
  const values = effectiveValues(vm);
  return unsatisfied(desiredValues, values).map((one) => {
    const { key, desired } = one;
    const actual = actualOf(one, values);
    // A secret is open only when nothing stands there, so nothing of it can be shown.
    const expected = desired.kind === 'secret' ? '•••' : (mergedText(key, desired, actual) ?? '(nothing)');
    return `  ${key}: found ${actual ?? '(nothing)'}, wanted ${expected}${sizeOf(desired)}`;
  });
}

/** The line of a new VM was not known when the plan was made. */
function ownershipApplied(desiredValues: readonly DesiredValue[]): Record<string, unknown> {
  const notes = desiredValues.find(({ desired }) => desired.kind === 'notes')?.desired;
  return notes?.kind === 'notes' ? { ownership: notes.line ?? null } : {};
}

/** The size of an existing disk is not part of what is written. */
function sizeOf(desired: DesiredValue['desired']): string {
  return desired.kind === 'disk' && desired.sizeBytes !== undefined ? ` with at least ${desired.sizeBytes} bytes` : '';
}
