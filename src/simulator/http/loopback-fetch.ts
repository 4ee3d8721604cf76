/**
 * Really downloads files from loopback addresses, for tests of other projects that serve files themselves. It only
 * contacts this machine: it resolves no names and follows no redirects to other hosts.
 */
import { createHash } from 'node:crypto';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { OutsideAnswer } from '../core/runtime.ts';
import { inspectImage } from '../storage/files/files.ts';
import type { Compression, RemoteFile, World } from '../world/world.ts';

const ALGORITHMS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];
/** Enough to recognise a format. */
const BEGINNING_BYTES = 64 * 1024;
/** Rule [assumed]: as wget 1.21 does it. */
const MOST_REDIRECTS = 20;
const IDLE_MS = 30_000;

/** Undefined for an address of another machine: the world file decides about those. */
export async function fetchLoopback(world: World, url: string, redirects = 0): Promise<OutsideAnswer | undefined> {
  const target = loopbackTarget(url);
  if (!target) return undefined;
  let response: IncomingMessage;
  try {
    response = await get(target);
  } catch {
    return { kind: 'refused' };
  }
  const { statusCode: status = 0, headers } = response;
  if (status >= 300 && status < 400 && headers.location !== undefined && redirects < MOST_REDIRECTS) {
    response.destroy();
    const next = new URL(headers.location, url).href;
    return (await fetchLoopback(world, next, redirects + 1)) ?? { kind: 'refused' };
  }
  if (status !== 200) {
    response.destroy();
    return { kind: 'status', status };
  }
  try {
    return { kind: 'file', remote: await received(world, response) };
  } catch {
    return { kind: 'refused' };
  }
}

/** `localhost` means 127.0.0.1, without a name lookup. */
function loopbackTarget(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  if (url.hostname === 'localhost') url.hostname = '127.0.0.1';
  return /^127(?:\.\d+){3}$/.test(url.hostname) || url.hostname === '[::1]' ? url : undefined;
}

function get(url: URL): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // A test server on this machine has a self-signed certificate.
    const sent =
      url.protocol === 'https:' ? requestTls(url, { rejectUnauthorized: false }, resolve) : requestPlain(url, resolve);
    sent.on('error', reject);
    sent.setTimeout(IDLE_MS, () => sent.destroy(new Error('no answer')));
    sent.end();
  });
}

async function received(world: World, response: IncomingMessage): Promise<RemoteFile> {
  const hashes = ALGORITHMS.map((name) => [name, createHash(name)] as const);
  const beginning: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (const [, hash] of hashes) hash.update(chunk);
    if (sizeBytes < BEGINNING_BYTES) beginning.push(chunk);
    sizeBytes += chunk.length;
  }
  const checksums = Object.fromEntries(hashes.map(([name, hash]) => [name, hash.digest('hex')]));
  const content = Buffer.concat(beginning);
  const known = world.contents.get(checksums.sha256 ?? '');
  const format = formatOf(content);
  const { virtualSizeBytes } = inspectImage(format, { content, sizeBytes });
  return {
    sizeBytes,
    mimetype: response.headers['content-type'] ?? '',
    format,
    compression: compressionOf(content),
    unpackedBytes: undefined,
    unpackedChecksums: {},
    checksums,
    virtualSizeBytes: known?.virtualSizeBytes ?? (virtualSizeBytes || undefined),
    guest: known?.guest,
    status: 200,
    trouble: undefined,
  };
}

function formatOf(content: Buffer): RemoteFile['format'] {
  if (content.subarray(0x8001, 0x8006).toString('latin1') === 'CD001') return 'iso';
  const image = (['qcow2', 'vmdk', 'ova'] as const).find(
    (format) => inspectImage(format, { content, sizeBytes: content.length }).isExpected,
  );
  return image ?? 'raw';
}

const MARKS: readonly (readonly [Compression, string])[] = [
  ['gz', '1f8b'],
  ['zst', '28b52ffd'],
  ['xz', 'fd377a585a00'],
  ['bz2', '425a68'],
];

function compressionOf(content: Buffer): Compression | undefined {
  const start = content.subarray(0, 8).toString('hex');
  return MARKS.find(([, mark]) => start.startsWith(mark))?.[0];
}
