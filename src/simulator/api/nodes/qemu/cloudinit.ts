/** /nodes/{node}/qemu/{vmid}/cloudinit: the present and the pending content of the drive, and its regeneration. */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { dieFault } from '../../../http/response.ts';
import { splitList } from '../../../schema/perl-text.ts';
import { activateStorage } from '../../../storage/space.ts';
import { findVolume, parseVolumeName, splitVolid } from '../../../storage/volumes.ts';
import { type DumpType, dumpCloudInit, hasCloudInitDrive, regenerateCloudInit } from '../../../vm/cloudinit.ts';
import { checkLock, loadVm, wireValue } from '../../../vm/config/config-file.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import type { Vm } from '../../../world/world.ts';

/** Rule [source QS API2/Qemu.pm $cloudinitoptions]: addresses are not among the keys shown. */
const SHOWN_KEYS = [
  'cicustom',
  'cipassword',
  'citype',
  'ciupgrade',
  'ciuser',
  'nameserver',
  'searchdomain',
  'sshkeys',
] as const;

const PASSWORD_MASK = '**********';

interface DriftEntry {
  key: string;
  value?: string | number;
  pending?: string | number;
  delete?: number;
}

/** Rule [recorded run-cloudinit-pending]: new keys, then known ones with the image's value, then removed ones. */
function getDrift(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/cloudinit'>): DriftEntry[] {
  const { current, cloudInit } = loadVm(call.runtime.world, call.node, call.params.vmid).config;
  const added = splitList(cloudInit?.get('added') ?? '');
  const shown = (key: string, value: string) => (key === 'cipassword' ? PASSWORD_MASK : wireValue(key, value));
  // Rule [source QS API2/Qemu.pm cloudinit_pending]: a value of 0 counts as none (Perl truth).
  const trueValue = (section: ReadonlyMap<string, string> | undefined, key: string) => {
    const value = section?.get(key);
    return value === undefined || value === '' || value === '0' ? undefined : shown(key, value);
  };
  const entries: DriftEntry[] = added.map((key) => {
    const value = current.get(key);
    return value === undefined ? { key } : { key, pending: shown(key, value) };
  });
  for (const key of SHOWN_KEYS) {
    const now = trueValue(current, key);
    if (now === undefined || added.includes(key)) continue;
    const inImage = trueValue(cloudInit, key);
    entries.push(inImage === undefined ? { key, value: now } : { key, value: inImage, pending: now });
  }
  for (const key of cloudInit?.keys() ?? []) {
    if (key !== 'added' && trueValue(current, key) === undefined) entries.push({ key, delete: 1 });
  }
  return entries;
}

/** Rule [recorded cloudinit-keys]: writing the image takes about 80 ms. */
const GENERATE_MS = 80;

async function regenerate(call: CallTo<'PUT /nodes/{node}/qemu/{vmid}/cloudinit'>): Promise<null> {
  const vmid = call.params.vmid;
  await withVmLock(call.runtime, call.node, vmid, {}, async () => {
    const vm = loadVm(call.runtime.world, call.node, vmid);
    checkLock(vm);
    // Rule [source QS QemuServer.pm vmconfig_update_cloudinit_drive]: without a drive there is nothing to do.
    if (!hasCloudInitDrive(vm.config.current)) return;
    assertSnippetsExist(call, vm);
    await call.runtime.clock.sleep(GENERATE_MS);
    regenerateCloudInit(vm);
  });
  return null;
}

/** Rule [source QS QemuServer/Cloudinit.pm read_cloudinit_snippets_file]: in the order network, user, meta, vendor. */
function assertSnippetsExist(call: Call, vm: Vm): void {
  const files = new Map((vm.config.current.get('cicustom') ?? '').split(',').map((part) => splitPair(part)));
  for (const kind of ['network', 'user', 'meta', 'vendor']) {
    const volid = files.get(kind);
    if (!volid) continue;
    const { storage, name } = splitVolid(volid);
    const { content } = parseVolumeName(activateStorage(call.runtime.world, storage, call.node), name);
    if (content !== 'snippets') throw dieFault(`${volid} is not in the snippets directory`);
    if (!findVolume(call.runtime.world, call.node, volid)) throw dieFault(`volume '${volid}' does not exist`);
  }
}

function splitPair(part: string): [string, string] {
  const [key = '', value = ''] = part.split('=');
  return [key, value];
}

function dump(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/cloudinit/dump'>): string {
  const vmid = call.params.vmid;
  const vm = loadVm(call.runtime.world, call.node, vmid);
  // Rule [source QS API2/Qemu.pm cloudinit_generated_config_dump]: the password is for those who may change it.
  const maskPassword = !call.may(`/vms/${vmid}`, ['VM.Config.Cloudinit']);
  const type = call.params.type as DumpType; // the schema admits these three
  return dumpCloudInit(vm.config.current, vmid, type, maskPassword);
}

export const cloudInitRoutes: Routes = {
  'GET /nodes/{node}/qemu/{vmid}/cloudinit': getDrift,
  'PUT /nodes/{node}/qemu/{vmid}/cloudinit': regenerate,
  'GET /nodes/{node}/qemu/{vmid}/cloudinit/dump': dump,
};
