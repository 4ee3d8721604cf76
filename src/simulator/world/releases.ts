/**
 * The releases of Proxmox VE that can be simulated: the version that each server reports, and the one check that code
 * makes about a release. The code that depends on a difference between releases states it.
 */
import { compareReleases, isSince, minorRelease, type ReleaseNumber } from '../../base/values/release.ts';
import type { PveVersion, World } from './world.ts';

interface Release {
  /** Of the first installation image. */
  readonly version: string;
  readonly repoid: string;
  readonly qemu: string;
  /** The version of QEMU that Proxmox ships with the release, if the recorded server had another one. */
  readonly shippedQemu?: string;
}

export const NEWEST_RELEASE = '9.2';

/**
 * Rule [source PM debian/changelog]: numbers and commits of the package that the release is called after.
 * Rule [assumed]: the version of QEMU is the one that the release was announced with.
 */
export const RELEASES: Readonly<Record<string, Release>> = {
  '8.0': { version: '8.0.3', repoid: 'bbf3993334bfa916', qemu: '8.0.2' },
  '8.1': { version: '8.1.3', repoid: 'b46aac3b42da5d15', qemu: '8.1.2' },
  '8.2': { version: '8.2.2', repoid: '9355359cd7afbae4', qemu: '8.1.5' },
  '8.3': { version: '8.3.0', repoid: 'c1689ccb1065a83b', qemu: '9.0.2' },
  '8.4': { version: '8.4.1', repoid: '2a5fa54a8503f96d', qemu: '9.2.0' },
  '9.0': { version: '9.0.3', repoid: '025864202ebb6109', qemu: '10.0.2' },
  '9.1': { version: '9.1.1', repoid: 'f4d3f125ffae50e9', qemu: '10.1.2' },
  // The one that was recorded, with the QEMU it had. Rule [source pve-qemu debian/changelog]: 11.0.0-2 is of the week before 9.2.0.
  [NEWEST_RELEASE]: { version: '9.2.11', repoid: '14a22df35955d97d', qemu: '10.0.13', shippedQemu: '11.0.0' },
};

/** The version that a server of `8.4` or of `8.4.14` reports; undefined if there is no such release. */
export function versionNamed(name: string): Omit<PveVersion, 'qemuPatched'> | undefined {
  const release = minorRelease(name);
  const known = RELEASES[release];
  if (!known || !/^\d+\.\d+(\.\d+)?$/.test(name)) return undefined;
  const { shippedQemu: _, ...reported } = known;
  return { ...reported, version: name.split('.').length === 2 ? known.version : name, release };
}

/** The version of QEMU that servers of `9.2` or of `9.2.11` usually have. */
export function shippedQemu(name: string): string | undefined {
  const known = RELEASES[minorRelease(name)];
  return known?.shippedQemu ?? known?.qemu;
}

export function knownReleases(): string[] {
  return Object.keys(RELEASES).sort(compareReleases);
}

const answers = new Map<string, boolean>();

/**
 * Whether the server is of that release or newer. Called for every VM in every list, so each answer is computed once.
 */
export function isServerSince({ version: { version } }: World, release: ReleaseNumber): boolean {
  const question = `${version} ${release}`;
  const answer = answers.get(question) ?? isSince(version, release);
  answers.set(question, answer);
  return answer;
}
