/** `vm.configure`: one write that carries everything that differs, guarded by the digest of the read it was built from. */
import { hasCode, isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import type { FormParams } from '../../../pve/index.ts';
import { isOutcomeUnknown, isSightLost } from '../../../pve/index.ts';
import type { Action, ActionContext } from '../../action.ts';
import type { DesiredValue } from '../desired.ts';
import type { VmObserved } from '../observed.ts';
import { unpackDesired } from '../packed.ts';
import type { ConfigureInput } from '../steps.ts';
import { type ConfigWrite, configureWrites } from '../writes.ts';
import { forgetObserved, knownVm, lastLook, look } from './look.ts';
import { revertOurs } from './revert.ts';
import { inRounds } from './rounds.ts';
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
