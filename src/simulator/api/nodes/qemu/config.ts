/** /nodes/{node}/qemu/{vmid}/config, …/pending and …/unlink: reading and changing a configuration. */

import { randomUuid } from '../../../../base/random.ts';
import { checkBridgeAccess } from '../../../access/device-checks.ts';
import { checkVmModifyPermissions } from '../../../access/vm-checks.ts';
import { checkStorageAccess } from '../../../access/volume-checks.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { isFalse, splitList } from '../../../schema/perl-text.ts';
import type { ParamTexts } from '../../../schema/validate.ts';
import { findVolume, parseVolumeName, splitVolid, storageConfig } from '../../../storage/volumes.ts';
import { effectiveConfig, loadVm, wireValue } from '../../../vm/config/config-file.ts';
import { isConfigKey, isNetKey } from '../../../vm/config/config-keys.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { checkDriveParams, resolveCdromAlias } from '../../../vm/disks/drive-params.ts';
import { errorText } from '../../../vm/error-text.ts';
import { assertSshKeys, clampCpuUnits, printNicWithMac } from '../../../vm/machine.ts';
import { earlyUpdateChecks, runUpdate, type UpdateRequest } from '../../../vm/update/update.ts';
import { isServerSince } from '../../../world/releases.ts';

/** Parameters of the call that are not configuration. */
const CONTROL = new Set([
  'node',
  'vmid',
  'digest',
  'background_delay',
  'import-working-storage',
  'skiplock',
  'delete',
  'revert',
  'force',
]);

/** Also for `PUT`: `POST` only has more parameters. */
type ConfigCall = CallTo<'POST /nodes/{node}/qemu/{vmid}/config'>;

const PASSWORD_MASK = '**********';

/** Rule [source QS API2/Qemu.pm vm_config]: contradictory parameters are refused before the VM is checked. */
function getConfig(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/config'>): Record<string, string | number> {
  const { snapshot, current = false } = call.params;
  if (snapshot && current) {
    const problem = "cannot use 'snapshot' parameter with 'current'";
    throw paramFault({ snapshot: problem, current: problem });
  }
  const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
  if (snapshot) {
    const section = vm.config.snapshots.get(snapshot);
    if (!section) throw dieFault(`snapshot '${snapshot}' does not exist`);
    return wireConfig(section, vm.config.digest);
  }
  return wireConfig(current ? vm.config.current : effectiveConfig(vm), vm.config.digest);
}

export function wireConfig(config: ReadonlyMap<string, string>, digest: string): Record<string, string | number> {
  const answer: Record<string, string | number> = { digest };
  for (const [key, value] of config) {
    // Rule [source QS API2/Qemu.pm vm_config]: only a password that Perl takes for true is hidden.
    answer[key] = key === 'cipassword' && !isFalse(value) ? PASSWORD_MASK : wireValue(key, value);
  }
  return answer;
}

interface PendingEntry {
  key: string;
  value?: string | number;
  pending?: string | number;
  delete?: number;
}

/** Rule [recorded run-refusals]: value in effect, pending value, and 1 (or 2 with `force`) for a pending delete. */
function getPending(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/pending'>): PendingEntry[] {
  const vm = loadVm(call.runtime.world, call.node, call.params.vmid);
  const { current, pending, pendingDeletes, digest } = vm.config;
  const entries: PendingEntry[] = [{ key: 'digest', value: digest }];
  for (const [key, value] of current) {
    const entry: PendingEntry = { key, value: key === 'cipassword' ? PASSWORD_MASK : wireValue(key, value) };
    const change = pending.get(key);
    if (change !== undefined) entry.pending = key === 'cipassword' ? `${PASSWORD_MASK} ` : wireValue(key, change);
    const deleted = pendingDeletes.get(key);
    if (deleted !== undefined) entry.delete = deleted ? 2 : 1;
    entries.push(entry);
  }
  for (const [key, value] of pending) {
    if (!current.has(key))
      entries.push({ key, pending: key === 'cipassword' ? `${PASSWORD_MASK} ` : wireValue(key, value) });
  }
  // Rule [source GC GuestHelpers.pm config_with_pending_array]: deletions of unset keys always look forced, and are a
  // separate entry next to a pending value.
  for (const key of pendingDeletes.keys()) if (!current.has(key)) entries.push({ key, delete: 2 });
  return entries;
}

async function putConfig(call: CallTo<'PUT /nodes/{node}/qemu/{vmid}/config'>): Promise<null> {
  const request = prepareUpdate(call);
  earlyUpdateChecks(call, request);
  await withVmLock(call.runtime, call.node, request.vmid, {}, () => runUpdate(call, request, undefined));
  return null;
}

async function postConfig(call: ConfigCall): Promise<string | null> {
  const request = prepareUpdate(call);
  if (!isServerSince(call.runtime.world, '9.0')) return postConfigUnderLock(call, request);
  earlyUpdateChecks(call, request);
  const upid = call.fork('qmconfig', String(request.vmid), (task) =>
    withVmLock(call.runtime, call.node, request.vmid, { task }, () => runUpdate(call, request, task)),
  );
  return answerFor(call, request, upid);
}

/**
 * Rule [source QS API2/Qemu.pm $update_vm_api of 8.3.12]: before 9.0 the request itself waits for the lock, so that a lock
 * that does not come free is an HTTP error; the checks against the configuration happen under it.
 * Rule [source PC Tools.pm lock_file_full]: the worker inherits the lock, which is free when the worker has ended.
 */
function postConfigUnderLock(call: ConfigCall, request: UpdateRequest): Promise<string | null> {
  const { runtime, node } = call;
  return new Promise((resolve, reject) => {
    withVmLock(runtime, node, request.vmid, {}, async () => {
      earlyUpdateChecks(call, request);
      const upid = call.fork('qmconfig', String(request.vmid), (task) => runUpdate(call, request, task));
      answerFor(call, request, upid).then(resolve, reject);
      await runtime.tasks.ended(upid);
    }).catch(reject);
  });
}

async function answerFor(call: ConfigCall, request: UpdateRequest, upid: string): Promise<string | null> {
  const delaySeconds = call.params.background_delay;
  return delaySeconds === undefined ? upid : waitBriefly(call, request.vmid, upid, delaySeconds);
}

/** Rule [source QS API2/Qemu.pm $update_vm_api]: null if it succeeded in time, its failure as 500, else the UPID. */
async function waitBriefly(call: Call, vmid: number, upid: string, delaySeconds: number): Promise<string | null> {
  const end = call.runtime.clock.now() + delaySeconds * 1000;
  while (call.runtime.tasks.isRunning(upid) && call.runtime.clock.now() < end) await call.runtime.clock.sleep(50);
  if (call.runtime.tasks.isRunning(upid)) return upid;
  const status = call.runtime.world.tasks.get(upid)?.exitStatus ?? '';
  if (status === 'OK' || status.startsWith('WARNINGS:')) return null;
  throw dieFault(`failed to update VM ${vmid}: ${status}`);
}

/** Rule [source QS API2/Qemu.pm unlink]: the same as `delete`. */
async function unlink(call: CallTo<'PUT /nodes/{node}/qemu/{vmid}/unlink'>): Promise<null> {
  const { idlist, ...params } = call.params;
  const { idlist: _, ...texts } = call.texts;
  return putConfig({ ...call, params: { ...params, delete: idlist }, texts: { ...texts, delete: idlist } });
}

/** Everything that is checked synchronously, in the server's order. */
function prepareUpdate(call: ConfigCall): UpdateRequest {
  const { params, texts } = call;
  const { vmid } = params;
  const summary = summarise(texts);
  const skipLock = params.skiplock ?? false;
  if (skipLock && !call.caller.isRoot) throw paramFault({ skiplock: 'Only root may use this option.' });
  const values = configValues(texts);
  const sshKeys = values.get('sshkeys');
  if (sshKeys !== undefined && sshKeys !== null) assertSshKeys(sshKeys);
  const cpuUnits = values.get('cpuunits');
  if (cpuUnits !== undefined && cpuUnits !== null) values.set('cpuunits', clampCpuUnits(cpuUnits));
  const deleteList = params.delete ?? '';
  const revertList = params.revert ?? '';
  if (deleteList === '' && revertList === '' && values.size === 0) throw dieFault('no options specified');

  const present = new Map([...values].filter((entry): entry is [string, string] => entry[1] !== null));
  resolveCdromAlias(present);
  const { reverts, deletes } = checkLists(revertList, deleteList, present);
  checkDriveParams(call.runtime.world, present);
  completeValues(call, present);
  checkVmModifyPermissions(call, vmid, undefined, deletes);
  checkVmModifyPermissions(call, vmid, undefined, [...present.keys()]);
  checkStorageAccess(call, vmid, present, undefined, params['import-working-storage']);
  checkBridgeAccess(call, present);

  const complete = new Map<string, string | null>(present);
  for (const [key, value] of values) if (value === null) complete.set(key, null);
  return {
    vmid,
    values: complete,
    deletes,
    reverts,
    force: params.force ?? false,
    digest: params.digest,
    skipLock,
    summary,
  };
}

function checkLists(
  revertList: string,
  deleteList: string,
  values: ReadonlyMap<string, string>,
): { reverts: string[]; deletes: string[] } {
  const reverts = splitList(revertList);
  for (const key of reverts) {
    if (!isConfigKey(key)) throw paramFault({ revert: `unknown option '${key}'` });
    if (values.has(key)) throw paramFault({ delete: `you can't use '-${key}' and -revert ${key}' at the same time` });
  }
  const deletes = splitList(deleteList).map((key) => (key === 'cdrom' ? 'ide2' : key));
  for (const key of deletes) {
    if (values.has(key)) throw paramFault({ delete: `you can't use '-${key}' and -delete ${key}' at the same time` });
    if (reverts.includes(key)) {
      throw paramFault({ revert: `you can't use '-delete ${key}' and -revert ${key}' at the same time` });
    }
    if (!isConfigKey(key)) throw paramFault({ delete: `unknown option '${key}'` });
  }
  return { reverts, deletes };
}

/** MAC addresses and a generation id are filled in, and the hook script is checked, before permissions. */
function completeValues(call: Call, values: Map<string, string>): void {
  for (const [key, value] of values) {
    if (isNetKey(key)) values.set(key, printNicWithMac(call.runtime, value));
    else if (key === 'vmgenid' && value === '1') values.set(key, randomUuid(call.runtime.random));
    else if (key === 'hookscript') checkHookScript(call, value);
  }
}

/**
 * Rule [source GC GuestHelpers.pm check_hookscript]: an update checks the script, a create does not. Rule [assumed]:
 * every existing snippet is executable.
 */
function checkHookScript(call: Call, volid: string): void {
  const { world } = call.runtime;
  try {
    const { storage, name } = splitVolid(volid);
    const { content } = parseVolumeName(storageConfig(world, storage), name);
    if (content !== 'snippets') throw dieFault(`'${volid}' is not in the snippets directory`);
    if (!findVolume(world, call.node, volid)) throw dieFault(`script '${volid}' does not exist`);
  } catch (error) {
    throw paramFault({ hookscript: `${errorText(error)}\n` });
  }
}

export function configValues(texts: ParamTexts, control: ReadonlySet<string> = CONTROL): Map<string, string | null> {
  return new Map(Object.entries(texts).filter(([key]) => !control.has(key)));
}

const NOT_IN_SUMMARY = new Set(['node', 'vmid', 'digest', 'background_delay', 'import-working-storage']);

/** Rule [recorded config-put-post]: the log names the parameters sorted, a password hidden. */
function summarise(texts: ParamTexts): string {
  return Object.keys(texts)
    .filter((key) => !NOT_IN_SUMMARY.has(key))
    .sort()
    .map((key) => `-${key} ${key === 'cipassword' ? '<hidden>' : (texts[key] ?? '')}`)
    .join(' ');
}

export const configRoutes: Routes = {
  'GET /nodes/{node}/qemu/{vmid}/config': getConfig,
  'PUT /nodes/{node}/qemu/{vmid}/config': putConfig,
  'POST /nodes/{node}/qemu/{vmid}/config': postConfig,
  'GET /nodes/{node}/qemu/{vmid}/pending': getPending,
  'PUT /nodes/{node}/qemu/{vmid}/unlink': unlink,
};
