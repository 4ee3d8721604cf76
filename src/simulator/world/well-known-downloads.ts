/**
 * Files of the outside world that the bare worlds can download: common images, under their real addresses. They have no
 * bytes, so their checksums follow a simple rule: those of the text of their URL, and for what is inside a packed file,
 * of the URL without the ending that says how it is packed.
 */
import { createHash } from 'node:crypto';
import type { WorldFile } from './world-file.ts';

type DownloadFile = NonNullable<WorldFile['downloads']>[string];
type ChecksumsFile = NonNullable<DownloadFile['checksums']>;

export const TALOS_VERSION = 'v1.12.4';
const TALOS_NEXT_VERSION = 'v1.12.5';
const FACTORY = `https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/${TALOS_VERSION}`;

export const WELL_KNOWN_URLS = {
  ubuntuNoble: 'https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img',
  ubuntuLiveServerIso: 'https://releases.ubuntu.com/24.04/ubuntu-24.04.2-live-server-amd64.iso',
  debian12: 'https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-amd64.qcow2',
  talosNoCloudQcow2: `${FACTORY}/nocloud-amd64.qcow2`,
  /** The version after that. */
  talosNextNoCloudQcow2: `${FACTORY.replace(TALOS_VERSION, TALOS_NEXT_VERSION)}/nocloud-amd64.qcow2`,
  talosNoCloudRawXz: `${FACTORY}/nocloud-amd64.raw.xz`,
  talosNoCloudIso: `${FACTORY}/nocloud-amd64.iso`,
  talosMetalRawZst: `https://github.com/siderolabs/talos/releases/download/${TALOS_VERSION}/metal-amd64.raw.zst`,
  talosMetalIso: `https://github.com/siderolabs/talos/releases/download/${TALOS_VERSION}/metal-amd64.iso`,
  /** An ISO image that is served packed, and contains its answers. */
  preseededIsoGz: 'https://images.example.com/debian-12-preseeded-amd64.iso.gz',
  /** Each of these fails in its own way. */
  gone: 'https://images.example.com/gone.qcow2',
  cut: 'https://images.example.com/cut.qcow2',
  refused: 'https://closed.example.com/disk.qcow2',
} as const;

const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const;

export function madeUpChecksums(text: string): ChecksumsFile {
  return Object.fromEntries(ALGORITHMS.map((name) => [name, createHash(name).update(text).digest('hex')]));
}

const plain = (url: string, file: DownloadFile): [string, DownloadFile] => [
  url,
  { checksums: madeUpChecksums(url), ...file },
];

function packed(url: string, compression: 'gz' | 'xz' | 'zst', file: DownloadFile): [string, DownloadFile] {
  const inside = url.slice(0, -`.${compression}`.length);
  return plain(url, { compression, unpacked_checksums: madeUpChecksums(inside), ...file });
}

const ISO = { format: 'iso', mimetype: 'application/x-iso9660-image' } as const;

export const WELL_KNOWN_DOWNLOADS: Readonly<Record<string, DownloadFile>> = Object.fromEntries([
  plain(WELL_KNOWN_URLS.ubuntuNoble, { size: '597M', virtual_size: '3584M', guest: 'ubuntu-cloud' }),
  plain(WELL_KNOWN_URLS.ubuntuLiveServerIso, { ...ISO, size: '3067M', guest: 'ubuntu-installer' }),
  plain(WELL_KNOWN_URLS.debian12, { size: '425M', virtual_size: '3G', guest: 'debian-cloud' }),
  plain(WELL_KNOWN_URLS.talosNoCloudQcow2, { size: '302M', virtual_size: '4472M', guest: 'talos' }),
  plain(WELL_KNOWN_URLS.talosNextNoCloudQcow2, { size: '303M', virtual_size: '4472M', guest: 'talos' }),
  packed(WELL_KNOWN_URLS.talosNoCloudRawXz, 'xz', {
    size: '91M',
    unpacked_size: '4472M',
    virtual_size: '4472M',
    format: 'raw',
    mimetype: 'application/x-xz',
    guest: 'talos',
  }),
  plain(WELL_KNOWN_URLS.talosNoCloudIso, { ...ISO, size: '301M', guest: 'talos-installer' }),
  packed(WELL_KNOWN_URLS.talosMetalRawZst, 'zst', {
    size: '98M',
    unpacked_size: '4472M',
    virtual_size: '4472M',
    format: 'raw',
    mimetype: 'application/zstd',
    guest: 'talos',
  }),
  plain(WELL_KNOWN_URLS.talosMetalIso, { ...ISO, size: '305M', guest: 'talos-installer' }),
  packed(WELL_KNOWN_URLS.preseededIsoGz, 'gz', {
    ...ISO,
    size: '402M',
    unpacked_size: '631M',
    mimetype: 'application/gzip',
    guest: 'preseeded-installer',
  }),
  plain(WELL_KNOWN_URLS.gone, { size: 0, status: 404 }),
  plain(WELL_KNOWN_URLS.cut, { size: '400M', trouble: 'cut' }),
  plain(WELL_KNOWN_URLS.refused, { size: 0, trouble: 'refused' }),
]);
