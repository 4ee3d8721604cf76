/**
 * `vm.snapshot`, `vm.delete-snapshot` and `vm.rollback`. Proxmox takes no digest for any of them, so each request
 * follows a read that shows our VM. The list of snapshots shows whether one was taken or deleted. Only the task shows a
 * rollback, and rolling back twice before the VM starts again does no harm.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { patiently } from '../../safety/rounds.ts';
import { runTask } from '../../safety/tasks.ts';
import { isSecretPath } from '../fields/secrets.ts';
import { vmName } from '../identity.ts';
import type { VmObserved } from '../observed.ts';
import {
  automaticName,
  describeSnapshot,
  differingKeys,
  isAutomatic,
  type Snapshot,
  snapshotsIn,
} from '../snapshot/snapshots.ts';
import type { DeleteSnapshotInput, RollbackInput, SnapshotInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { forgetObserved, inRounds, knownVm, look, sendToOurs } from './safety/look.ts';

export const takeSnapshot: VmAction<SnapshotInput> = (context, input) => {
  const { memory, description } = input;
  const name = input.name ?? automaticName(context.runId);
  return inRounds(context, `snapshot ${name} of`, async () => {
    const vm = await look(context);
    const existing = await find(context, vm, name);
    if (existing && existing.state === undefined) return 'done';
    if (existing) throw halfTaken(context, vm, existing);
    const { node, vmid } = vm;
    const { guardedBy = [] } = knownVm(context);
    await context.intend(
      { vmid, node, snapshot: name, sentAt: context.clock.now() },
      input.name === undefined ? { guardedBy: [...guardedBy.filter((each) => each !== name), name] } : undefined,
    );
    context.progress(`snapshot ${name}`);
    const { stack, address, runId: run } = context;
    const why = input.name === undefined ? 'before_change' : 'asked';
    const params = {
      snapname: name,
      description: describeSnapshot(description, { why, stack, address, run }),
      ...(memory && { vmstate: true }),
    };
    await runTask(context, {
      what: `snapshot ${name}`,
      node,
      vmid,
      type: 'qmsnapshot',
      timeoutMs: context.timeouts.cloneMs,
      isOver: async () => (await find(context, vm, name)) !== undefined,
      send: () =>
        sendToOurs(context, vm, (options) => context.pve.node(node).vm(vmid).snapshots.create(params, options)),
    });
    forgetObserved(context);
    return 'again';
  });
};

export const deleteSnapshot: VmAction<DeleteSnapshotInput> = (context, { name, onlyAutomatic }) =>
  inRounds(context, `delete snapshot ${name} of`, async () => {
    const vm = await look(context);
    const existing = await find(context, vm, name);
    if (!existing) return 'done';
    if (onlyAutomatic && !isAutomatic(existing, context.stack)) {
      context.log.log('warn', `${context.address}: snapshot ${name} is kept: its description was changed.`);
      return 'done';
    }
    const { node, vmid } = vm;
    await context.intend({ vmid, node, deleteSnapshot: name, sentAt: context.clock.now() });
    context.progress(`delete snapshot ${name}`);
    await runTask(context, {
      what: `deletion of snapshot ${name}`,
      node,
      vmid,
      type: 'qmdelsnapshot',
      timeoutMs: context.timeouts.cloneMs,
      isOver: async () => (await find(context, vm, name)) === undefined,
      send: () =>
        sendToOurs(context, vm, (options) => context.pve.node(node).vm(vmid).snapshots.delete(name, {}, options)),
    });
    forgetObserved(context);
    return 'again';
  });

/** Afterwards the VM is off, unless the snapshot holds its memory. A later step starts it again if needed. */
export const rollBack: VmAction<RollbackInput> = async (context, { name, startsAgain }) => {
  await inRounds(context, `roll back to ${name}:`, async () => {
    const vm = await look(context);
    const existing = await find(context, vm, name);
    if (!existing) throw noSnapshot(context, vm, name);
    const { node, vmid, digest } = vm;
    await context.intend({ vmid, node, rollback: name, sentAt: context.clock.now() }, forgotten(context, startsAgain));
    context.progress(`roll back to ${name}`);
    await runTask(context, {
      what: `rollback to ${name}`,
      node,
      vmid,
      type: 'qmrollback',
      timeoutMs: context.timeouts.cloneMs,
      // It changes the configuration, if only its lock and its generation id.
      isOver: async () => (await look(context)).digest !== digest,
      send: () =>
        sendToOurs(context, vm, (options) => context.pve.node(node).vm(vmid).snapshots.rollback(name, {}, options)),
    });
    forgetObserved(context);
    return 'done';
  });
  // Identity holds: the read refuses another VM. What an interrupted change had begun is undone.
  const vm = await patiently(context, () => look(context));
  await compare(context, vm, name);
  await context.learn({ phase: 'complete', guardedBy: [] });
  const unused = [...vm.current]
    .filter(([key]) => key.startsWith('unused'))
    .map(([key, volume]) => `${key}: ${volume}`);
  if (unused.length > 0) {
    context.log.log(
      'info',
      `${context.address}: volumes that no drive uses now, with their data: ${unused.join(', ')}`,
    );
  }
};

/** Every configuration is compared before a VM is started: here with the one in the snapshot. */
async function compare(context: VmContext, vm: VmObserved, name: string): Promise<void> {
  const { config } = context.pve.node(vm.node).vm(vm.vmid);
  const { signal } = context;
  const [now, then] = await patiently(context, () =>
    Promise.all([config.get({ current: true }, { signal }), config.get({ snapshot: name }, { signal })]),
  );
  const differing = differingKeys(then.values, now.values);
  if (differing.length === 0) return;
  throw new ProxwrightError({
    code: 'CONFIG_CHANGED',
    where: { address: context.address },
    detail: `${vmName(vm)} was rolled back to ${name}, but differs from it: ${differing.join(', ')}. It was not started.`,
    hint: advice`Another client changed it meanwhile. See what differs from the file: ${command('plan', '--only', context.address)}`,
  });
}

/**
 * What a rollback makes unknown: which secrets the VM has, because none can be read back, and, if it is started again,
 * whether it runs. If these stayed recorded, they would count as done.
 */
function forgotten(context: VmContext, startsAgain: boolean | undefined) {
  const isKnown = (path: string) => !isSecretPath(path) && !(startsAgain && path === 'power');
  const applied = Object.entries(knownVm(context).lastApplied).filter(([path]) => isKnown(path));
  return { lastApplied: Object.fromEntries(applied) };
}

async function find(context: VmContext, { node, vmid }: VmObserved, name: string): Promise<Snapshot | undefined> {
  const entries = await context.pve.node(node).vm(vmid).snapshots.list({ signal: context.signal });
  return snapshotsIn(entries).find((each) => each.name === name);
}

/** While the VM is locked, a task may still finish the snapshot, so this waits. */
function halfTaken(context: VmContext, vm: VmObserved, { name, state }: Snapshot): ProxwrightError {
  const where = { address: context.address };
  if (vm.lock !== undefined) {
    return new ProxwrightError({ code: 'GUEST_LOCKED', where, detail: `VM is locked (${vm.lock}).` });
  }
  return new ProxwrightError({
    code: 'CANNOT_SNAPSHOT',
    where,
    detail: `${vmName(vm)} has a snapshot ${name} that is not complete (${state}): its task was interrupted.`,
    hint: advice`Delete it first: ${command('snapshot delete', name, '--only', context.address)}`,
  });
}

function noSnapshot(context: VmContext, vm: VmObserved, name: string): ProxwrightError {
  return new ProxwrightError({
    code: 'NOT_FOUND',
    where: { address: context.address },
    detail: `${vmName(vm)} no longer has the snapshot ${name}. Nothing was rolled back.`,
    hint: advice`See which ones it has: ${command('snapshot list', '--only', context.address)}`,
  });
}
