/** `vm.migrate`: to the node that the stack names now, running or not, with its local disks. */
import type { Action } from '../../action.ts';
import type { MigrateInput } from '../steps.ts';
import { forgetSight, look } from './look.ts';
import { isRunning } from './power.ts';
import { inRounds } from './rounds.ts';
import { runTask } from './tasks.ts';

export const migrateVm: Action<MigrateInput> = (context, { target }) =>
  inRounds(context, `migrate to ${target}`, async () => {
    // A look finds the VM wherever it is, and remembers where.
    const vm = await look(context);
    const { node, vmid } = vm;
    if (node === target) return 'done';
    const online = await isRunning(context, vm);
    await context.intend({ vmid, node, target });
    context.progress(`migrate to ${target}`);
    await runTask(context, {
      what: `migration to ${target}`,
      node,
      vmid,
      type: 'qmigrate',
      timeoutMs: context.timeouts.cloneMs,
      send: () =>
        context.pve
          .node(node)
          .vm(vmid)
          .migrate({ target, online, 'with-local-disks': true }, { signal: context.signal }),
    });
    forgetSight(context);
    return 'again';
  });
