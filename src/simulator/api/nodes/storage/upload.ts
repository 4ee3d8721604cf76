/** /nodes/{node}/storage/{storage}/upload: a file in the body of the request. [source ST API2/Storage/Status.pm upload] */
import type { Call, CallTo, Routes, Upload } from '../../../core/call.ts';
import { type Task, TaskInterrupted } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { addVolume, removeVolume } from '../../../storage/catalogue.ts';
import {
  fileVolume,
  type IncomingFile,
  incomingFile,
  inspectImage,
  refuseFormat,
} from '../../../storage/files/files.ts';
import { readDisc } from '../../../storage/files/iso9660.ts';
import { commandFailure } from '../../../storage/image-files.ts';
import { activateStorage, availableBytes } from '../../../storage/space.ts';
import { checkStorageEnabled } from '../../../storage/volumes.ts';
import type { Storage } from '../../../world/world.ts';

export const nodeStorageUploadRoutes: Routes = {
  'POST /nodes/{node}/storage/{storage}/upload': upload,
};

type UploadCall = CallTo<'POST /nodes/{node}/storage/{storage}/upload'>;

/** Rule [recorded storage-upload]: copying a small file. */
const COPY_MS = 20;
const BLOCK_BYTES = 4096;

/**
 * Rule [source ST API2/Storage/Status.pm upload]: never forwarded. The contacted node keeps the file and runs the task,
 * even if it is meant for another one, to which `scp` then copies it.
 */
function upload(call: UploadCall): string {
  const { world, tasks } = call.runtime;
  const storage = checkStorageEnabled(world, call.params.storage, call.node);
  if (storage.path === undefined) throw dieFault(`can't upload to storage type '${storage.type}'`);
  const received = call.upload;
  if (!received) throw dieFault('missing temporary file name');
  const content = call.params.content;
  const incoming = incomingFile(storage, content, received.fileName);
  if (!storage.content.has(incoming.content)) {
    throw dieFault(`storage '${storage.id}' does not support '${content}' content`);
  }
  if (call.node !== world.entryNode) assertReachable(call, storage);
  activateStorage(world, storage.id, call.node);
  return tasks.fork(world.entryNode, 'imgcopy', '', call.caller.authid, (task) =>
    importFile(call, task, storage, incoming, received),
  );
}

async function importFile(
  call: UploadCall,
  task: Task,
  storage: Storage,
  incoming: IncomingFile,
  received: Upload,
): Promise<void> {
  const temporary = received.temporaryName.startsWith('/')
    ? received.temporaryName
    : `/var/tmp/${received.temporaryName}`;
  task.log(`starting file import from: ${temporary}`);
  verifyChecksum(call, task, received);
  const image = incoming.imageFormat && inspectImage(incoming.imageFormat, received);
  if (image && incoming.imageFormat) {
    refuseFormat(temporary, incoming.imageFormat, image.isExpected, (line) => task.log(line));
  }
  task.log(`target node: ${call.node}`);
  task.log(`target file: ${incoming.path}`);
  task.log(`file size is: ${received.sizeBytes}`);
  task.log(`command: ${copyCommand(call, temporary, incoming).join(' ')}`);
  await copy(call, task, storage, incoming, received);
  const contents = call.runtime.world.contents.get(received.checksums.sha256 ?? '');
  const virtualSizeBytes = contents?.virtualSizeBytes ?? image?.virtualSizeBytes ?? 0;
  const disc =
    incoming.content === 'iso' && received.content.length === received.sizeBytes
      ? readDisc(received.content)
      : undefined;
  // Rule [recorded storage-upload]: an existing file is silently overwritten.
  addVolume(
    storage,
    call.node,
    fileVolume(storage, incoming, {
      sizeBytes: received.sizeBytes,
      usedBytes: Math.ceil(received.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES,
      dataBytes: received.sizeBytes,
      ctime: call.runtime.clock.now(),
      guest: contents?.guest,
      checksums: received.checksums,
      ...(incoming.content === 'import' && virtualSizeBytes > 0 && { virtualSizeBytes }),
      ...(disc && { disc }),
    }),
  );
  task.log('finished file import successfully');
}

/**
 * Rule [source ST API2/Storage/Status.pm upload]: the copy writes directly to the name of the file, so the previous
 * file is lost immediately, and a failed copy removes even the beginning of the new one.
 */
async function copy(
  call: Call,
  task: Task,
  storage: Storage,
  incoming: IncomingFile,
  { sizeBytes }: Upload,
): Promise<void> {
  const { world, clock } = call.runtime;
  const beginning = fileVolume(storage, incoming, { ctime: clock.now() });
  addVolume(storage, call.node, beginning);
  try {
    await task.sleep(COPY_MS + (sizeBytes / storage.bandwidthBytesPerSecond) * 1000);
  } catch (error) {
    removeVolume(storage, call.node, beginning);
    if (error instanceof TaskInterrupted) throw dieFault(`import failed: ${error.message}`);
    throw error;
  }
  if (sizeBytes <= availableBytes(world, storage, call.node)) return;
  removeVolume(storage, call.node, beginning);
  throw dieFault(`import failed: cp: error writing '${incoming.path}': No space left on device`);
}

function copyCommand(call: Call, temporary: string, incoming: IncomingFile): string[] {
  const { world } = call.runtime;
  if (call.node === world.entryNode) return ['cp', '--', temporary, incoming.path];
  const target = `[${addressOf(call)}]:${incoming.path}`;
  return ['/usr/bin/scp', ...sshOptions(call.node), '-p', '--', temporary, target];
}

/** Rule [source ST API2/Storage/Status.pm upload]: the storage of the other node is activated through SSH, before there is a task. */
function assertReachable(call: Call, storage: Storage): void {
  if (call.runtime.world.nodes.get(call.node)?.online) return;
  const command = ['/usr/bin/ssh', ...sshOptions(call.node), addressOf(call), '--'];
  const failure = commandFailure([...command, '/usr/sbin/pvesm', 'status', '--storage', storage.id], 'exit code 255');
  throw dieFault(`can't activate storage '${storage.id}' on node '${call.node}': ${failure.message}`);
}

/** Rule [assumed]: how nodes of a cluster talk to each other. */
function sshOptions(node: string): string[] {
  const options = [
    'BatchMode=yes',
    `HostKeyAlias=${node}`,
    `UserKnownHostsFile=/etc/pve/nodes/${node}/ssh_known_hosts`,
    'GlobalKnownHostsFile=none',
  ];
  return options.flatMap((option) => ['-o', option]);
}

function addressOf(call: Call): string {
  return call.runtime.world.nodes.get(call.node)?.address ?? call.node;
}

/** Rule [recorded storage-upload]: the result is on the same line; a mismatch leaves the line as it is. */
function verifyChecksum(call: UploadCall, task: Task, received: Upload): void {
  // The schema refuses one of these without the other.
  const { 'checksum-algorithm': algorithm, checksum: expected } = call.params;
  if (algorithm === undefined || expected === undefined) return;
  const actual = received.checksums[algorithm] ?? '';
  if (actual !== expected.toLowerCase()) {
    task.log('calculating checksum...');
    throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}'`);
  }
  task.log('calculating checksum...OK, checksum verified');
}
