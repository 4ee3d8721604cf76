/**
 * Versions of Terraform providers that a release of Proxmox VE breaks, each with where that is written. What is not in the
 * table is not known to break. Pure.
 */
import type { ReleaseNumber } from '../../../pve/compatibility.ts';

interface ProviderFact {
  /** As in `required_providers`, in lower case. */
  readonly source: string;
  /** First version it is true of; all older ones too where it is left out. */
  readonly from?: string;
  /** First version it is true of no more. */
  readonly until: string;
  readonly brokenBy: ReleaseNumber;
  readonly verdict: 'bad' | 'warning';
  /** Completes "<provider> <version> …". */
  readonly why: string;
  readonly remedy: string;
  /** Where it is to be read. */
  readonly evidence: string;
}

export const PROVIDER_FACTS: readonly ProviderFact[] = [
  {
    source: 'telmate/proxmox',
    from: '2.9.12',
    until: '3.0.2-rc04',
    brokenBy: '9.0',
    verdict: 'bad',
    why: 'demands the privilege VM.Monitor before it does anything, and Proxmox VE 9 has none of that name',
    remedy: 'Move to 3.0.2-rc04 or newer before the upgrade.',
    evidence:
      'https://github.com/Telmate/terraform-provider-proxmox/pull/1382 (the list in proxmox/provider.go begins with 2.9.12 and loses VM.Monitor with 3.0.2-rc04)',
  },
  {
    source: 'bpg/proxmox',
    until: '0.82.0',
    brokenBy: '9.0',
    verdict: 'warning',
    why: 'names Proxmox VE 8.x as what it works with; 0.82.0 is the first that names 9',
    remedy: 'Move to 0.82.0 or newer before the upgrade.',
    evidence: 'https://github.com/bpg/terraform-provider-proxmox/pull/2116 (README.md of 0.81.0 and of 0.82.0)',
  },
];

/** Resources of providers that speak of what a release has removed. */
export const RESOURCE_FACTS: readonly Omit<ProviderFact, 'from' | 'until'>[] = [
  {
    source: 'proxmox_virtual_environment_hagroup',
    brokenBy: '9.0',
    verdict: 'bad',
    why: 'makes an HA group, and Proxmox VE 9 has rules instead',
    remedy: 'Take it out before the upgrade; bpg/proxmox has proxmox_virtual_environment_harule from 0.99.0 on.',
    evidence: 'https://github.com/bpg/terraform-provider-proxmox/pull/2682 and CHANGELOG.md of 0.99.0',
  },
];

/** `3.0.2-rc04` comes after `3.0.2-rc03` and `3.0.1`, and before `3.0.2`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  const place = left.findIndex((part, index) => part !== right[index]);
  return place < 0 ? 0 : (left[place] ?? 0) - (right[place] ?? 0);
}

function partsOf(version: string): readonly number[] {
  const [, major, minor = 0, patch = 0, rest] =
    /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-[a-z]*\.?(\d+))?/i.exec(version) ?? [];
  const isForetaste = version.includes('-');
  return [Number(major ?? 0), Number(minor), Number(patch), isForetaste ? Number(rest ?? 0) : Number.MAX_SAFE_INTEGER];
}

export function isTrueOf({ from, until }: Pick<ProviderFact, 'from' | 'until'>, version: string): boolean {
  return (from === undefined || compareVersions(version, from) >= 0) && compareVersions(version, until) < 0;
}

export interface TextFile {
  /** As messages name it. */
  readonly name: string;
  readonly text: string;
}

interface ProviderUse {
  readonly file: string;
  readonly line: number;
  /** `bpg/proxmox`. */
  readonly source: string;
  readonly version: string;
  /** A lock file says which version it is; a requirement only what the oldest one may be. */
  readonly isExact: boolean;
}

export function providerUses(files: readonly TextFile[]): ProviderUse[] {
  const locked = files.filter(isLock).flatMap(usesInLock);
  const required = files.filter((file) => !isLock(file)).flatMap(usesInRequirements);
  // What is locked is what runs, in its own directory.
  const isLocked = (use: ProviderUse) =>
    locked.some((lock) => lock.source === use.source && directoryOf(lock.file) === directoryOf(use.file));
  return [...locked, ...required.filter((use) => !isLocked(use))];
}

const isLock = ({ name }: TextFile) => name.endsWith('.terraform.lock.hcl');
const directoryOf = (name: string) => name.replace(/[^/]*$/, '');

function usesInLock({ name, text }: TextFile): ProviderUse[] {
  return [...text.matchAll(/^provider\s+"[^"/]+\/([^"]+)"\s*\{[^}]*?version\s*=\s*"([^"]+)"/gm)].map((match) => ({
    file: name,
    line: lineOf(text, match.index),
    source: (match[1] ?? '').toLowerCase(),
    version: match[2] ?? '',
    isExact: true,
  }));
}

/** `proxmox = { source = "bpg/proxmox", version = "~> 0.70" }`, in either order and over several lines. */
function usesInRequirements({ name, text }: TextFile): ProviderUse[] {
  return [...text.matchAll(/=\s*\{([^{}]*source\s*=\s*"([^"]+)"[^{}]*)\}/g)].flatMap((match): ProviderUse[] => {
    const bound = /version\s*=\s*"([^"]+)"/.exec(match[1] ?? '')?.[1];
    const version = bound === undefined ? undefined : oldestOf(bound);
    if (version === undefined) return [];
    const source = (match[2] ?? '').toLowerCase().split('/').slice(-2).join('/');
    const isExact = /^\s*=?\s*\d/.test(bound ?? '');
    return [{ file: name, line: lineOf(text, match.index), source, version, isExact }];
  });
}

/** Of `>= 0.60, < 0.80` it is 0.60; nothing where no part is a lower bound. */
function oldestOf(bound: string): string | undefined {
  return bound
    .split(',')
    .map((part) => /^\s*(=|~>|>=|>)?\s*(\d\S*)\s*$/.exec(part)?.[2])
    .find((version) => version !== undefined);
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
