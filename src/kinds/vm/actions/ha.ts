/** `vm.ha`: makes the VM a resource of the HA manager as the file says, or removes the resource. */
import { hasCode } from '../../../base/errors.ts';
import type { HaResource } from '../../../pve/index.ts';
import type { HaFields } from '../fields/ha.ts';
import { appliedHa, haChanges, isHaPath } from '../ha.ts';
import { vmName } from '../identity.ts';
import type { VmObserved } from '../observed.ts';
import type { HaInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { inRounds, knownVm, look, sendToOurs } from './safety/look.ts';

export const manageHa: VmAction<HaInput> = (context, { ha }) =>
  inRounds(context, 'ha', async () => {
    const vm = await look(context);
    const observed = await findResource(context, vm.vmid);
    const isChanged = await bringAbout(context, vm, ha, observed);
    context.log.log(
      'debug',
      `${context.address}: ${vmName(vm)} ${isChanged ? 'now has' : 'already had'} the desired HA resource`,
    );
    await record(context, ha);
    return 'done';
  });

/** Before a VM of ours is destroyed: otherwise the HA manager would start it again. */
export async function releaseFromHa(context: VmContext, vm: VmObserved): Promise<void> {
  const isOurs = Object.entries(knownVm(context).lastApplied).some(
    ([path, value]) => isHaPath(path) && value !== false,
  );
  if (!isOurs) return;
  try {
    await remove(context, vm);
  } catch (error) {
    // Destroying the VM with purge removes the resource as well, and does not need this privilege.
    if (!isUnprivileged(error)) throw error;
  }
  await record(context, undefined);
}

async function record(context: VmContext, ha: HaFields | undefined): Promise<void> {
  const others = Object.entries(knownVm(context).lastApplied).filter(([path]) => !isHaPath(path));
  await context.learn({ lastApplied: { ...Object.fromEntries(others), ...appliedHa(ha) } });
}

async function bringAbout(
  context: VmContext,
  vm: VmObserved,
  desired: HaFields,
  observed: HaResource | 'unknown' | undefined,
): Promise<boolean> {
  const { ha } = context.pve.cluster;
  const { vmid } = vm;
  if (desired === false) {
    if (!observed) return false;
    await context.intend({ vmid, ha: false, sentAt: context.clock.now() });
    context.progress('ha');
    await remove(context, vm);
    return true;
  }
  const existing = observed === 'unknown' ? undefined : observed;
  const changes = haChanges(desired, existing);
  if (existing && Object.keys(changes).length === 0) return false;
  await context.intend({ vmid, ha: { ...changes }, sentAt: context.clock.now() });
  context.progress('ha');
  if (existing) await sendToOurs(context, vm, (options) => ha.update(vmid, changes, options));
  else await create(context, vm, desired);
  return true;
}

/** Another client may have created the resource first, or it exists and the token may not see it. */
async function create(context: VmContext, vm: VmObserved, desired: Exclude<HaFields, false>): Promise<void> {
  const { ha } = context.pve.cluster;
  const { vmid } = vm;
  const params = haChanges(desired, undefined);
  try {
    await sendToOurs(context, vm, (options) => ha.create(vmid, params, options));
  } catch (error) {
    if (!hasCode(error, 'ALREADY_EXISTS')) throw error;
    await sendToOurs(context, vm, (options) => ha.update(vmid, params, options));
  }
}

async function remove(context: VmContext, vm: VmObserved): Promise<void> {
  try {
    await sendToOurs(context, vm, (options) => context.pve.cluster.ha.delete(vm.vmid, options));
  } catch (error) {
    if (!hasCode(error, 'NOT_FOUND')) throw error;
  }
}

async function findResource(context: VmContext, vmid: number): Promise<HaResource | 'unknown' | undefined> {
  try {
    const resources = await context.pve.cluster.ha.list({ signal: context.signal });
    return resources.find(({ sid }) => sid === `vm:${vmid}`);
  } catch (error) {
    if (isUnprivileged(error)) return 'unknown';
    throw error;
  }
}

function isUnprivileged(error: unknown): boolean {
  return hasCode(error, 'PRIVILEGE_MISSING');
}
