/** `vm.migrate`: moves a VM, running or stopped, with its local disks to another node. */

import { ProxwrightError } from '../../../base/errors.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { printDuration, upTo } from '../../../base/values/units.ts';
import { patiently } from '../../safety/rounds.ts';
import { runTask } from '../../safety/tasks.ts';
import { vmName } from '../identity.ts';
import type { MigrateInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { isOnlyFiled, isRunning } from './power.ts';
import { forgetObserved, inRounds, look, sendToOurs } from './safety/look.ts';

const HA_POLL_MS = 2_000;

export const migrateVm: VmAction<MigrateInput> = (context, { target, storage, because }) =>
  inRounds(context, `migrate to ${target}`, async () => {
    // The read finds the VM on any node, and records the node.
    const vm = await look(context);
    const { node, vmid } = vm;
    if (node === target) return 'done';
    const online = await isRunning(context, vm);
    await context.intend(
      { vmid, node, target, sentAt: context.clock.now() },
      because && { moved: { from: node, to: target, by: because } },
    );
    context.progress(`migrate to ${target}`);
    const result = await runTask(context, {
      what: `migration to ${target}`,
      node,
      vmid,
      type: 'qmigrate',
      timeoutMs: context.timeouts.cloneMs,
      send: () =>
        sendToOurs(context, vm, (options) =>
          context.pve
            .node(node)
            .vm(vmid)
            .migrate({ target, online, 'with-local-disks': true, ...(storage && { targetstorage: storage }) }, options),
        ),
    });
    forgetObserved(context);
    if (isOnlyFiled(result)) await untilThere(context, target);
    return 'again';
  });

async function untilThere(context: VmContext, target: string): Promise<void> {
  const { clock, signal, timeouts } = context;
  const deadline = clock.ticks() + timeouts.cloneMs;
  context.progress(upTo(`waiting for the HA manager: migrate to ${target}`, timeouts.cloneMs));
  for (;;) {
    const vm = await patiently(context, () => look(context));
    if (vm.node === target) return;
    if (clock.ticks() >= deadline) {
      throw new ProxwrightError({
        code: 'TASK_TIMEOUT',
        detail: `${vmName(vm)} is managed by HA and was not on ${target} after ${printDuration(timeouts.cloneMs)}.`,
        where: { address: context.address },
        hint: `Check the HA status of the cluster: ${nodeCommand('ha-manager status', [])}`,
      });
    }
    await clock.sleep(HA_POLL_MS, signal);
  }
}
