/** /nodes/{node}/storage/{storage}/upload: a file in the body of the request. [source ST API2/Storage/Status.pm upload] */
import { type Call, type Routes, requiredText, text, type Upload } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { addVolume } from '../../../storage/catalogue.ts';
import {
  fileVolume,
  hashOf,
  type IncomingFile,
  incomingFile,
  inspectImage,
  refuseFormat,
} from '../../../storage/files.ts';
import { activateStorage, availableBytes } from '../../../storage/space.ts';
import { checkStorageEnabled } from '../../../storage/volumes.ts';
import type { Storage } from '../../../world/world.ts';

export const nodeStorageUploadRoutes: Routes = {
  'POST /nodes/{node}/storage/{storage}/upload': upload,
};

/** Rule [recorded storage-upload]: copying a small file. */
const COPY_MS = 20;
const BLOCK_BYTES = 4096;

function upload(call: Call): string {
  const { world } = call.runtime;
  const storage = checkStorageEnabled(world, requiredText(call.params, 'storage'), call.node);
  if (storage.path === undefined) throw dieFault(`can't upload to storage type '${storage.type}'`);
  const received = call.upload;
  if (!received) throw dieFault('missing temporary file name');
  const content = requiredText(call.params, 'content');
  const incoming = incomingFile(storage, content, received.fileName);
  if (!storage.content.has(incoming.content)) {
    throw dieFault(`storage '${storage.id}' does not support '${content}' content`);
  }
  activateStorage(world, storage.id, call.node);
  return call.fork('imgcopy', '', (task) => importFile(call, task, storage, incoming, received));
}

async function importFile(
  call: Call,
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
  const image = incoming.imageFormat && inspectImage(incoming.imageFormat, received.content);
  if (image && incoming.imageFormat) {
    refuseFormat(temporary, incoming.imageFormat, image.isExpected, (line) => task.log(line));
  }
  task.log(`target node: ${call.node}`);
  task.log(`target file: ${incoming.path}`);
  task.log(`file size is: ${received.sizeBytes}`);
  task.log(`command: cp -- ${temporary} ${incoming.path}`);
  await task.sleep(COPY_MS + (received.sizeBytes / storage.bandwidthBytesPerSecond) * 1000);
  if (received.sizeBytes > availableBytes(call.runtime.world, storage, call.node)) {
    throw dieFault(`import failed: cp: error writing '${incoming.path}': No space left on device`);
  }
  // Rule [recorded storage-upload]: an existing file is overwritten without a word.
  addVolume(
    storage,
    call.node,
    fileVolume(storage, incoming, {
      sizeBytes: received.sizeBytes,
      usedBytes: Math.ceil(received.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES,
      dataBytes: received.sizeBytes,
      ctime: call.runtime.clock.now(),
      sha256: hashOf('sha256', received.content),
      ...(image && image.virtualSizeBytes > 0 && { virtualSizeBytes: image.virtualSizeBytes }),
    }),
  );
  task.log('finished file import successfully');
}

/** Rule [recorded storage-upload]: the result stands on the same line; a mismatch leaves the line as it is. */
function verifyChecksum(call: Call, task: Task, received: Upload): void {
  const algorithm = text(call.params, 'checksum-algorithm');
  if (algorithm === undefined) return;
  const expected = requiredText(call.params, 'checksum');
  const actual = hashOf(algorithm, received.content);
  if (actual !== expected.toLowerCase()) {
    task.log('calculating checksum...');
    throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}'`);
  }
  task.log('calculating checksum...OK, checksum verified');
}
