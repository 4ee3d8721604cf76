/** …/download-url and /nodes/{node}/query-url-metadata: files the node fetches itself. [source ST API2/Storage/Status.pm; PC Tools.pm] */
import { type Call, type Routes, requiredText, text } from '../../../core/call.ts';
import { type Task, TaskInterrupted } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { addVolume, volumesOf } from '../../../storage/catalogue.ts';
import { fileVolume, type IncomingFile, incomingFile, refuseFormat } from '../../../storage/files.ts';
import { activateStorage, availableBytes } from '../../../storage/space.ts';
import { checkStorageEnabled } from '../../../storage/volumes.ts';
import type { RemoteFile, Storage, World } from '../../../world/world.ts';

export const nodeStorageDownloadRoutes: Routes = {
  'POST /nodes/{node}/storage/{storage}/download-url': download,
  'GET /nodes/{node}/query-url-metadata': queryMetadata,
};

/** Rule [assumed]: the line to the outside world, when the storage is not slower. */
const NETWORK_BYTES_PER_SECOND = 100_000_000;
const CONNECT_MS = 60;
const BLOCK_BYTES = 4096;

function download(call: Call): string {
  const { world } = call.runtime;
  const storage = checkStorageEnabled(world, requiredText(call.params, 'storage'), call.node);
  if (storage.path === undefined) {
    throw dieFault(`can't upload to storage type '${storage.type}', not a file based storage!`);
  }
  const content = requiredText(call.params, 'content');
  // Rule [recorded storage-download-url]: asked before the file name is looked at, unlike in an upload.
  if (![...storage.content].some((each) => each === content)) {
    throw dieFault(`storage '${storage.id}' is not configured for content-type '${content}'`);
  }
  const incoming = incomingFile(storage, content, requiredText(call.params, 'filename'));
  activateStorage(world, storage.id, call.node);
  return call.fork('download', incoming.file, (task) => fetchFile(call, task, storage, incoming));
}

/** Rule [source PC Tools.pm download_file_from_url]. */
async function fetchFile(call: Call, task: Task, storage: Storage, incoming: IncomingFile): Promise<void> {
  const url = requiredText(call.params, 'url');
  const compression = text(call.params, 'compression');
  if (compression !== undefined && incoming.content !== 'iso') {
    throw dieFault(`decompression not supported for ${incoming.content}`);
  }
  // Rule [source ST Storage.pm decompressor_info].
  if (compression !== undefined && !['gz', 'lzo', 'zst', 'bz2'].includes(compression)) {
    throw dieFault('no decompression method found');
  }
  task.log(`downloading ${url} to ${incoming.path}`);
  if (isAlreadyThere(call, task, storage, incoming)) return;
  const temporary = `${incoming.path}.tmp_dwnl.${task.record.pid}`;
  const remote = await transfer(call, task, storage, url, temporary);
  verifyChecksum(call, task, remote);
  if (compression !== undefined) {
    task.log(`decompressing ${temporary} to ${incoming.path}.tmp_dcom.${task.record.pid}`);
  }
  verifyFormat(incoming, remote, temporary, (line) => task.log(line));
  const sizeBytes = compression === undefined ? remote.sizeBytes : (remote.virtualSizeBytes ?? remote.sizeBytes);
  addVolume(
    storage,
    call.node,
    fileVolume(storage, incoming, {
      sizeBytes,
      usedBytes: Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES,
      dataBytes: sizeBytes,
      ctime: call.runtime.clock.now(),
      guest: remote.guest,
      ...(incoming.content === 'import' && virtualSize(remote)),
      ...(remote.checksums.sha256 !== undefined && { sha256: remote.checksums.sha256 }),
    }),
  );
  task.log(`download of '${url}' to '${incoming.path}' finished`);
}

function virtualSize(remote: RemoteFile): { readonly virtualSizeBytes: number } {
  return { virtualSizeBytes: remote.virtualSizeBytes ?? Math.ceil(remote.sizeBytes / 512) * 512 };
}

/** Rule [recorded storage-download-url]: never overwrites; with the right checksum an existing file is good enough. */
function isAlreadyThere(call: Call, task: Task, storage: Storage, incoming: IncomingFile): boolean {
  const existing = volumesOf(storage, call.node).get(incoming.volumeName);
  if (!existing) return false;
  const expected = text(call.params, 'checksum');
  if (expected === undefined) throw dieFault(`refusing to override existing file '${incoming.path}'`);
  // Rule [assumed]: of a file in the world only its SHA-256 is known; other sums never match.
  const isKnown = text(call.params, 'checksum-algorithm') === 'sha256' && existing.sha256 !== undefined;
  const actual = isKnown ? (existing.sha256 ?? '') : '0'.repeat(expected.length);
  if (actual.toLowerCase() === expected.toLowerCase()) {
    task.log('calculating checksum of existing file...OK, got correct file already, no need to download');
    return true;
  }
  task.log('calculating checksum of existing file...');
  throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}', aborting`);
}

/** The chatter of wget, and the failures that end it. */
async function transfer(call: Call, task: Task, storage: Storage, url: string, temporary: string): Promise<RemoteFile> {
  const { world, clock } = call.runtime;
  const now = () => new Date(clock.now()).toISOString().slice(0, 19).replace('T', ' ');
  const answer = lookUp(world, url);
  task.log(`--${now()}--  ${url}`);
  await sleepOrStop(task, CONNECT_MS);
  if (answer.kind === 'refused') {
    throw dieFault(`download failed: Connecting to ${answer.address}... failed: Connection refused.`);
  }
  if (answer.kind === 'unresolvable') {
    throw dieFault(`download failed: wget: unable to resolve host address '${answer.host}'`);
  }
  if (answer.kind === 'status') {
    // Rule [assumed]: wget's last line is empty, which is why only its exit code reaches the error.
    task.log(`HTTP request sent, awaiting response... ${answer.status} ${reasonOf(answer.status)}`);
    task.log(`${now()} ERROR ${answer.status}: ${reasonOf(answer.status)}.`);
    throw dieFault('download failed: exit code 8');
  }
  const { remote } = answer;
  task.log('HTTP request sent, awaiting response... 200 OK');
  task.log(`Length: ${remote.sizeBytes} [${remote.mimetype}]`);
  task.log(`Saving to: '${temporary}'`);
  const bytesPerSecond = Math.min(NETWORK_BYTES_PER_SECOND, storage.bandwidthBytesPerSecond);
  const roomBytes = availableBytes(world, storage, call.node);
  await sleepOrStop(task, (Math.min(remote.sizeBytes, roomBytes) / bytesPerSecond) * 1000);
  if (remote.sizeBytes > roomBytes)
    throw dieFault(`download failed: Cannot write to '${temporary}' (No space left on device).`);
  task.log(
    `${now()} (${Math.round(bytesPerSecond / 1e6)} MB/s) - '${temporary}' saved [${remote.sizeBytes}/${remote.sizeBytes}]`,
  );
  return remote;
}

async function sleepOrStop(task: Task, ms: number): Promise<void> {
  try {
    await task.sleep(ms);
  } catch (error) {
    if (error instanceof TaskInterrupted) throw dieFault('download failed: interrupted by signal');
    throw error;
  }
}

/** Rule [recorded storage-upload]: result on the same line, as for an upload. */
function verifyChecksum(call: Call, task: Task, remote: RemoteFile): void {
  const algorithm = text(call.params, 'checksum-algorithm');
  const expected = text(call.params, 'checksum');
  if (algorithm === undefined || expected === undefined) return;
  const actual = remote.checksums[algorithm] ?? '0'.repeat(expected.length);
  if (actual.toLowerCase() !== expected.toLowerCase()) {
    task.log('calculating checksum...');
    throw dieFault(`checksum mismatch: got '${actual}' != expect '${expected}'`);
  }
  task.log('calculating checksum...OK, checksum verified');
}

/** Rule [source ST API2/Storage/Status.pm download_url assert_file_validity]: a raw image can be anything. */
function verifyFormat(
  incoming: IncomingFile,
  remote: RemoteFile,
  temporary: string,
  log: (line: string) => void,
): void {
  const expected = incoming.imageFormat;
  if (expected === undefined) return;
  try {
    refuseFormat(temporary, expected, expected === 'raw' || remote.format === expected, log);
  } catch (error) {
    throw error instanceof Error ? dieFault(`failed to verify file: ${error.message.trimEnd()}`) : error;
  }
}

type Answer =
  | { readonly kind: 'file'; readonly remote: RemoteFile }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'refused'; readonly address: string }
  | { readonly kind: 'unresolvable'; readonly host: string };

/** Rule [assumed]: hosts that serve something answer 404 for the rest; bare addresses refuse; other names do not exist. */
function lookUp(world: World, url: string): Answer {
  const remote = world.downloads.get(url);
  if (remote) return remote.status === 200 ? { kind: 'file', remote } : { kind: 'status', status: remote.status };
  const { host, port } = hostOf(url);
  for (const known of world.downloads.keys()) {
    const other = hostOf(known);
    if (other.host === host && other.port === port) return { kind: 'status', status: 404 };
  }
  const isAddress = /^[\d.]+$/.test(host) || host.startsWith('[') || host === 'localhost';
  return isAddress ? { kind: 'refused', address: `${host}:${port}` } : { kind: 'unresolvable', host };
}

function hostOf(url: string): { readonly host: string; readonly port: string } {
  const match = /^(https?):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?/.exec(url);
  return { host: match?.[2] ?? '', port: match?.[3] ?? (match?.[1] === 'https' ? '443' : '80') };
}

const reasonOf = (status: number) => REASONS[status] ?? 'Unknown';
const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** Rule [source PM API2/Nodes.pm query_url_metadata]: anything but 200 is refused with the status line. */
async function queryMetadata(call: Call): Promise<unknown> {
  const url = requiredText(call.params, 'url');
  const answer = lookUp(call.runtime.world, url);
  const refuse = (line: string) => dieFault(`invalid server response: '${line}'`);
  if (answer.kind === 'refused') throw refuse(`500 Can't connect to ${answer.address} (Connection refused)`);
  if (answer.kind === 'unresolvable') {
    const { host, port } = hostOf(url);
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
