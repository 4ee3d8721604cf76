/** Making the image in a cloud-init drive: what must be there for it, what it prints, what it leaves behind. */
import { splitProperty } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import { allocateVolume } from '../storage/allocate.ts';
import { isFileBased } from '../storage/names.ts';
import { volumePath } from '../storage/paths.ts';
import { activateStorage } from '../storage/space.ts';
import { findVolume, imageFormat, parseVolumeName, splitVolid, storageConfig } from '../storage/volumes.ts';
import { CLOUD_INIT_SIZE_BYTES } from './clone-disk.ts';
import { dumpCloudInit } from './cloudinit.ts';
import type { ConfigDraft } from './config-text.ts';
import { type Drive, drivesOf } from './drive.ts';

/** Rule [recorded cloudinit-keys]: writing the image takes about 80 ms. */
const GENERATE_MS = 80;

export interface ImageContext {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  readonly log: (line: string) => void;
}

/**
 * Rule [source QS QemuServer/Cloudinit.pm apply_cloudinit_config]: the image is made for the given values; afterwards
 * nothing differs between it and the configuration, so the section that remembers differences goes.
 */
export async function applyCloudInit(
  context: ImageContext,
  draft: ConfigDraft,
  config: ReadonlyMap<string, string> = draft.current,
): Promise<void> {
  for (const drive of drivesOf(config)) {
    if (!new RegExp(`:.*vm-${context.vmid}-cloudinit`).test(drive.file)) continue;
    assertSnippetsExist(context, config);
    // The network file is written from the keys: an address without prefix length fails here.
    dumpCloudInit(config, context.vmid, 'network', false);
    await ensureVolume(context, drive);
    context.log('generating cloud-init ISO');
    await context.runtime.clock.sleep(GENERATE_MS);
  }
  if (draft.cloudInit && draft.cloudInit.size > 0) draft.cloudInit = undefined;
}

/** Rule [source QS QemuServer/Cloudinit.pm get_custom_cloudinit_files]: in the order network, user, meta, vendor. */
function assertSnippetsExist({ runtime, node }: ImageContext, config: ReadonlyMap<string, string>): void {
  const files = new Map(splitProperty(config.get('cicustom') ?? '').map((part) => [part.key, part.value]));
  for (const kind of ['network', 'user', 'meta', 'vendor']) {
    const volid = files.get(kind);
    if (volid === undefined) continue;
    const { storage, name } = splitVolid(volid);
    const { content } = parseVolumeName(storageConfig(runtime.world, storage), name);
    if (content !== 'snippets') throw dieFault(`${volid} is not in the snippets directory`);
    activateStorage(runtime.world, storage, node);
    if (!findVolume(runtime.world, node, volid)) throw dieFault(`volume '${volid}' does not exist`);
  }
}

/** Rule [recorded roundtrip-put-back]: putting the same drive back frees its volume first; generating makes it anew. */
async function ensureVolume({ runtime, node, vmid, log }: ImageContext, drive: Drive): Promise<void> {
  if (findVolume(runtime.world, node, drive.file)) return;
  const { storage: storageId, name } = splitVolid(drive.file);
  const storage = storageConfig(runtime.world, storageId);
  // Rule [recorded start-missing-volumes]: looking for the image is what fails first.
  if (isFileBased(storage)) log(`failed to stat '${volumePath(storage, name)}'`);
  const { file, format } = parseVolumeName(storage, name);
  const sizeKiB = CLOUD_INIT_SIZE_BYTES / 1024;
  await allocateVolume(runtime, { node, storageId, vmid, format: imageFormat(format), name: file, sizeKiB, log });
}
