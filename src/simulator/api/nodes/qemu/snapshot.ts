/** /nodes/{node}/qemu/{vmid}/snapshot and below: listing, taking, describing, rolling back and deleting snapshots. */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { checkLock, draftOf, loadVm, saveConfig, wireValue } from '../../../vm/config/config-file.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { startVm } from '../../../vm/power/power.ts';
import { rollbackSnapshot } from '../../../vm/snapshots/rollback.ts';
import { createSnapshot, deleteSnapshot } from '../../../vm/snapshots/snapshots.ts';
import { assertSavable, type SnapshotJob } from '../../../vm/snapshots/steps.ts';

interface SnapshotEntry {
  readonly name: string;
  readonly description: string;
  readonly snaptime?: number;
  readonly vmstate?: number;
  readonly parent?: string;
  readonly snapstate?: string;
  readonly digest?: string;
  readonly running?: number;
}

/** Rule [recorded snapshots]: the present state comes last, as a snapshot called `current`. */
function list(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/snapshot'>): SnapshotEntry[] {
  const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
  const { current, snapshots, digest } = vm.config;
  const optional = (section: ReadonlyMap<string, string>, key: string) => {
    const value = section.get(key);
    return value ? { [key]: value } : {};
  };
  const entries: SnapshotEntry[] = [...snapshots].map(([name, section]) => ({
    name,
    snaptime: Number(section.get('snaptime') ?? 0),
    vmstate: section.get('vmstate') ? 1 : 0,
    description: section.get('description') ?? '',
    ...optional(section, 'parent'),
    ...optional(section, 'snapstate'),
  }));
  const running = vm.process ? 1 : 0;
  return [
    ...entries,
    { name: 'current', digest, running, description: 'You are here!', ...optional(current, 'parent') },
  ];
}

function jobOf(call: Call<{ readonly vmid: number; readonly snapname: string }>, task: Task): SnapshotJob {
  return {
    runtime: call.runtime,
    node: call.node,
    vmid: call.params.vmid,
    name: call.params.snapname,
    task,
  };
}

function take(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/snapshot'>): string {
  const name = call.params.snapname;
  const withMemory = call.params.vmstate ?? false;
  const description = call.params.description;
  // Rule [recorded snapshots]: names of the configuration file's own sections.
  if (name === 'current') throw dieFault("unable to use snapshot name 'current' (reserved name)");
  if (name.toLowerCase() === 'pending') throw dieFault("unable to use snapshot name 'pending' (reserved name)");
  assertSavable(loadVm(call.runtime.world, call.node, call.params.vmid).config.current, withMemory);
  return call.fork('qmsnapshot', String(call.params.vmid), (task) =>
    createSnapshot(jobOf(call, task), { description, withMemory }),
  );
}

function index(): { cmd: string }[] {
  return [{ cmd: 'rollback' }, { cmd: 'config' }];
}

/** Rule [recorded snapshots]: the section as it is, without a digest and with nothing masked. */
function getSnapshotConfig(
  call: CallTo<'GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config'>,
): Record<string, string | number> {
  const name = call.params.snapname;
  const section = loadVm(call.runtime.world, call.node, call.params.vmid).config.snapshots.get(name);
  if (!section) throw dieFault(`snapshot '${name}' does not exist`);
  return Object.fromEntries([...section].map(([key, value]) => [key, wireValue(key, value)]));
}

/**
 * Rule [source QS API2/Qemu.pm update_snapshot_config]: only the description can change; without one nothing is
 * checked.
 */
async function putSnapshotConfig(
  call: CallTo<'PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config'>,
): Promise<null> {
  const name = call.params.snapname;
  const description = call.params.description;
  if (description === undefined) return null;
  await withVmLock(call.runtime, call.node, call.params.vmid, {}, () => {
    const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
    checkLock(vm);
    const draft = draftOf(vm.config);
    const section = draft.snapshots.get(name);
    if (!section) throw dieFault(`snapshot '${name}' does not exist`);
    section.set('description', description);
    saveConfig(vm, draft);
  });
  return null;
}

function rollback(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback'>): string {
  const vmid = call.params.vmid;
  const start = call.params.start ?? false;
  // Rule [recorded perm-life-minus-one-a]: starting afterwards requires the privilege to start.
  if (start) call.require(`/vms/${vmid}`, ['VM.PowerMgmt']);
  return call.fork('qmrollback', String(vmid), async (task) => {
    const { runtime, node } = call;
    await rollbackSnapshot(jobOf(call, task));
    // Rule [source QS API2/Qemu.pm rollback]: the start is a separate task that the rollback does not wait for.
    if (start && !runtime.world.vms.get(vmid)?.process) {
      call.fork('qmstart', String(vmid), (starting) => startVm(runtime, { node, vmid, task: starting }));
    }
  });
}

function remove(call: CallTo<'DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}'>): string {
  const force = call.params.force ?? false;
  return call.fork('qmdelsnapshot', String(call.params.vmid), (task) => deleteSnapshot(jobOf(call, task), force));
}

export const snapshotRoutes: Routes = {
  'GET /nodes/{node}/qemu/{vmid}/snapshot': list,
  'POST /nodes/{node}/qemu/{vmid}/snapshot': take,
  'GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}': index,
  'DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}': remove,
  'GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config': getSnapshotConfig,
  'PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config': putSnapshotConfig,
  'POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback': rollback,
};
