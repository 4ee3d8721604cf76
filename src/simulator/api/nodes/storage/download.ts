/**
 * …/download-url and /nodes/{node}/query-url-metadata: files that the node downloads itself. [source ST
 * API2/Storage/Status.pm; PC Tools.pm]
 */
import type { CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { addVolume, volumesOf } from '../../../storage/catalogue.ts';
import { CONNECT_MS, download as downloadFile, lookUp, reasonOf, sourceOf } from '../../../storage/files/download.ts';
import { fileVolume, type IncomingFile, incomingFile, refuseFormat } from '../../../storage/files/files.ts';
import { commandFailure } from '../../../storage/image-files.ts';
import { activateStorage } from '../../../storage/space.ts';
import { checkStorageEnabled } from '../../../storage/volumes.ts';
import type { Checksums, RemoteFile, Storage } from '../../../world/world.ts';

export const nodeStorageDownloadRoutes: Routes = {
  'POST /nodes/{node}/storage/{storage}/download-url': download,
  'GET /nodes/{node}/query-url-metadata': queryMetadata,
};

type DownloadCall = CallTo<'POST /nodes/{node}/storage/{storage}/download-url'>;

const BLOCK_BYTES = 4096;

function download(call: DownloadCall): string {
  const { world } = call.runtime;
  const storage = checkStorageEnabled(world, call.params.storage, call.node);
  if (storage.path === undefined) {
    throw dieFault(`can't upload to storage type '${storage.type}', not a file based storage!`);
  }
  const content = call.params.content;
  // Rule [recorded storage-download-url]: checked before the file name, unlike in an upload.
  if (![...storage.content].some((each) => each === content)) {
    throw dieFault(`storage '${storage.id}' is not configured for content-type '${content}'`);
  }
  const incoming = incomingFile(storage, content, call.params.filename);
  activateStorage(world, storage.id, call.node);
  return call.fork('download', incoming.file, (task) => fetchFile(call, task, storage, incoming));
}

/**
 * Rule [source PC Tools.pm download_file_from_url]: the file gets its name only once it is complete; a failure leaves
 * nothing behind.
 */
async function fetchFile(call: DownloadCall, task: Task, storage: Storage, incoming: IncomingFile): Promise<void> {
  const { url, compression } = call.params;
  if (compression !== undefined && incoming.content !== 'iso') {
    throw dieFault(`decompression not supported for ${incoming.content}`);
  }
  const unpack = compression === undefined ? undefined : DECOMPRESSORS[compression];
  if (compression !== undefined && !unpack) throw dieFault('no decompression method found');
  task.log(`downloading ${url} to ${incoming.path}`);
  if (isAlreadyThere(call, task, storage, incoming)) return;
  const temporary = `${incoming.path}.tmp_dwnl.${task.record.pid}`;
  const input = { node: call.node, storage, url, temporary, task };
  const { remote, isGenuine } = await downloadFile(call.runtime, input);
  verifyChecksum(call, task, isGenuine ? remote.checksums : {});
  if (unpack) {
    task.log(`decompressing ${temporary} to ${incoming.path}.tmp_dcom.${task.record.pid}`);
    await task.sleep((unpackedBytes(remote) / storage.bandwidthBytesPerSecond) * 1000);
    if (!isGenuine || remote.compression !== compression) throw refusedByTool(unpack, temporary, task);
  }
  const file = unpack ? unpacked(remote) : remote;
  const bytesAre = isGenuine && file.compression === undefined ? file.format : 'other';
  verifyFormat(incoming, bytesAre, temporary, (line) => task.log(line));
  const virtual = incoming.content === 'import' ? { virtualSizeBytes: virtualSize(incoming, file) } : {};
  addVolume(
    storage,
    call.node,
    fileVolume(storage, incoming, {
      sizeBytes: file.sizeBytes,
      usedBytes: Math.ceil(file.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES,
      dataBytes: file.sizeBytes,
      ctime: call.runtime.clock.now(),
      // Rule [assumed]: bytes that do not match the name do not boot: packed ones, or qcow2 called raw.
      guest: bytesAre === (incoming.imageFormat ?? 'iso') ? file.guest : undefined,
      checksums: isGenuine ? file.checksums : {},
      ...virtual,
    }),
  );
  task.log(`download of '${url}' to '${incoming.path}' finished`);
}

/** Rule [source ST Storage.pm decompressor_info]: xz is not among them. */
const DECOMPRESSORS: Readonly<Record<string, { readonly words: readonly string[]; readonly complaint: string }>> = {
  gz: { words: ['zcat'], complaint: '\ngzip: FILE: not in gzip format' },
  lzo: { words: ['lzop', '-d', '-c'], complaint: 'lzop: FILE: not a lzop file' },
  zst: { words: ['zstd', '-q', '-d', '-c'], complaint: 'zstd: FILE: unsupported format ' },
  bz2: { words: ['bzcat', '-q'], complaint: 'bzcat: FILE is not a bzip2 file.' },
};

/** Rule [assumed]: what gzip 1.12, zstd 1.5 and bzip2 1.0.8 print for a file that is something else; lzop was not tried. */
function refusedByTool(
  { words, complaint }: { readonly words: readonly string[]; readonly complaint: string },
  path: string,
  task: Task,
): Error {
  task.log(complaint.replace('FILE', path));
  return commandFailure([...words, path], `exit code ${words[0] === 'bzcat' ? 2 : 1}`);
}

const unpackedBytes = (remote: RemoteFile) => remote.unpackedBytes ?? remote.virtualSizeBytes ?? remote.sizeBytes;

function unpacked(remote: RemoteFile): RemoteFile {
  return {
    ...remote,
    sizeBytes: unpackedBytes(remote),
    checksums: remote.unpackedChecksums,
    compression: undefined,
  };
}

/** The size of the disk in it: for a raw file its own length, whatever it holds. */
function virtualSize(incoming: IncomingFile, file: RemoteFile): number {
  const length = Math.ceil(file.sizeBytes / 512) * 512;
  return incoming.imageFormat === 'raw' ? length : (file.virtualSizeBytes ?? length);
}

/**
 * Rule [recorded storage-download-url]: never overwrites; an existing file with the right checksum counts as success.
 */
function isAlreadyThere(call: DownloadCall, task: Task, storage: Storage, incoming: IncomingFile): boolean {
  const existing = volumesOf(storage, call.node).get(incoming.volumeName);
  if (!existing) return false;
  const expected = call.params.checksum;
  if (expected === undefined) throw dieFault(`refusing to override existing file '${incoming.path}'`);
  // Rule [assumed]: a sum that the world does not know never matches.
  const actual = existing.checksums?.[call.params['checksum-algorithm'] ?? ''] ?? '0'.repeat(expected.length);
  if (actual.toLowerCase() === expected.toLowerCase()) {
    task.log('calculating checksum of existing file...OK, got correct file already, no need to download');
    return true;
  }
  task.log('calculating checksum of existing file...');
  throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}', aborting`);
}

/** Rule [recorded storage-upload]: result on the same line, as for an upload. */
function verifyChecksum(call: DownloadCall, task: Task, checksums: Checksums): void {
  const algorithm = call.params['checksum-algorithm'];
  const expected = call.params.checksum;
  if (algorithm === undefined || expected === undefined) return;
  const actual = checksums[algorithm] ?? '0'.repeat(expected.length);
  if (actual.toLowerCase() !== expected.toLowerCase()) {
    task.log('calculating checksum...');
    throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}'`);
  }
  task.log('calculating checksum...OK, checksum verified');
}

/** Rule [source ST API2/Storage/Status.pm download_url assert_file_validity]: a raw image can be anything. */
function verifyFormat(
  incoming: IncomingFile,
  bytesAre: RemoteFile['format'],
  temporary: string,
  log: (line: string) => void,
): void {
  const expected = incoming.imageFormat;
  if (expected === undefined) return;
  try {
    refuseFormat(temporary, expected, expected === 'raw' || bytesAre === expected, log);
  } catch (error) {
    throw error instanceof Error ? dieFault(`failed to verify file: ${error.message.trimEnd()}`) : error;
  }
}

/** Rule [source PM API2/Nodes.pm query_url_metadata]: anything but 200 is refused with the status line. */
async function queryMetadata(call: CallTo<'GET /nodes/{node}/query-url-metadata'>): Promise<unknown> {
  const url = call.params.url;
  const answer = await lookUp(call.runtime, url);
  const { host, port } = sourceOf(url);
  const refuse = (line: string) => dieFault(`invalid server response: '${line}'`);
  if (answer.kind === 'refused') throw refuse(`500 Can't connect to ${host}:${port} (Connection refused)`);
  if (answer.kind === 'unresolvable') {
    throw refuse(`500 Can't connect to ${host}:${port} (Name or service not known)`);
  }
  await call.runtime.clock.sleep(CONNECT_MS);
  if (answer.kind === 'status') throw refuse(`${answer.status} ${reasonOf(answer.status)}`);
  const filename = /^[^?]+\/([^?/]*)(?:\?.*)?$/.exec(url)?.[1];
  const { sizeBytes, mimetype } = answer.remote;
  return {
    ...(filename && { filename }),
    ...(sizeBytes > 0 && { size: sizeBytes }),
    ...(mimetype !== '' && { mimetype: mimetype.replace(/;.*$/, '') }),
  };
}
