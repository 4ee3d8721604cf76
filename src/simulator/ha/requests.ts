/** Power actions of a managed VM: they only file a request with the HA manager's command line tool. */
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import type { PowerRequest } from '../vm/power/suspend.ts';
import { wakeHa } from './rounds.ts';

/** Rule [recorded ha-power]: the tool needs a second or more. */
const TOOL_MS = 1_200;

export async function requestHaStart(runtime: Runtime, { vmid, task }: PowerRequest): Promise<void> {
  task.log(`Requesting HA start for VM ${vmid}`);
  const sid = `vm:${vmid}`;
  await runTool(runtime, sid, task, `set ${sid} --state started`);
  runtime.world.ha.resources.get(sid)?.set('state', 'started');
  wakeHa(runtime);
}

/** Rule [source HA Manager.pm update_crm_commands]: a command waits until the manager reads it; `0` means at once and hard. */
export async function requestHaStop(runtime: Runtime, { vmid, task }: PowerRequest, seconds: number): Promise<void> {
  task.log(`Requesting HA stop for VM ${vmid}`);
  const sid = `vm:${vmid}`;
  await runTool(runtime, sid, task, `crm-command stop ${sid} ${seconds}`);
  runtime.world.ha.commands.push({ sid, seconds });
  wakeHa(runtime);
}

/** Rule [source QS API2/Qemu.pm migrate_vm]: the request is filed, and the manager moves the VM when it has read it. */
export async function requestHaMigration(
  runtime: Runtime,
  { vmid, task }: PowerRequest,
  target: string,
): Promise<void> {
  task.log(`Requesting HA migration for VM ${vmid} to node ${target}`);
  const sid = `vm:${vmid}`;
  await runTool(runtime, sid, task, `migrate ${sid} ${target}`);
  runtime.world.ha.commands.push({ sid, target });
  wakeHa(runtime);
}

/** Rule [recorded ha-create]: a service in error state can be neither started nor stopped. */
async function runTool(runtime: Runtime, sid: string, task: Task, command: string): Promise<void> {
  await task.sleep(TOOL_MS);
  const { resources, services } = runtime.world.ha;
  if (resources.has(sid) && services.get(sid)?.state !== 'error') return;
  task.log(
    resources.has(sid)
      ? `service '${sid}' in error state, must be disabled and fixed first`
      : `update resources config failed: no such resource '${sid}'`,
  );
  throw dieFault(`command 'ha-manager ${command}' failed: exit code 255`);
}

/** Rule [recorded ha-create]: created and managed in one step, started only if requested. */
export async function addHaResource(runtime: Runtime, vmid: number, isStarted: boolean, task: Task): Promise<void> {
  task.log('Add as HA resource');
  await task.sleep(TOOL_MS);
  runtime.world.ha.resources.set(`vm:${vmid}`, new Map([['state', isStarted ? 'started' : 'stopped']]));
  wakeHa(runtime);
}
