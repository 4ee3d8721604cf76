/**
 * Versions of Terraform providers that a release of Proxmox VE breaks, each with its source, and which versions Terraform
 * files use: exactly from lock files, at least from constraints. The files are read as text, without an HCL parser. Pure.
 */
import type { ReleaseNumber } from '../../../pve/compatibility.ts';

interface ProviderFact {
  /** As in `required_providers`, in lower case. */
  readonly source: string;
  /** First version that breaks; absent if all older ones break, too. */
  readonly from?: string;
  /** First version that works again. */
  readonly until: string;
  readonly brokenBy: ReleaseNumber;
  readonly verdict: 'bad' | 'warning';
  /** Completes "<provider> <version> …". */
  readonly why: string;
  readonly remedy: string;
  /** Link to the source. */
  readonly evidence: string;
}

export const PROVIDER_FACTS: readonly ProviderFact[] = [
  {
    source: 'telmate/proxmox',
    from: '2.9.12',
    until: '3.0.2-rc04',
    brokenBy: '9.0',
    verdict: 'bad',
    why: 'requires the privilege VM.Monitor, which Proxmox VE 9 does not have',
    remedy: 'Upgrade it to 3.0.2-rc04 or newer before the upgrade.',
    evidence:
      'https://github.com/Telmate/terraform-provider-proxmox/pull/1382 (the list in proxmox/provider.go begins with 2.9.12 and loses VM.Monitor with 3.0.2-rc04)',
  },
  {
    source: 'bpg/proxmox',
    until: '0.82.0',
    brokenBy: '9.0',
    verdict: 'warning',
    why: 'lists Proxmox VE 8.x as supported; 0.82.0 is the first version that lists 9',
    remedy: 'Upgrade it to 0.82.0 or newer before the upgrade.',
    evidence: 'https://github.com/bpg/terraform-provider-proxmox/pull/2116 (README.md of 0.81.0 and of 0.82.0)',
  },
];

/** Resources for things that a release removed. */
export const RESOURCE_FACTS: readonly Omit<ProviderFact, 'from' | 'until'>[] = [
  {
    source: 'proxmox_virtual_environment_hagroup',
    brokenBy: '9.0',
    verdict: 'bad',
    why: 'creates an HA group, which Proxmox VE 9 replaced by rules',
    remedy: 'Remove it before the upgrade. bpg/proxmox has proxmox_virtual_environment_harule since 0.99.0.',
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
  const isPrerelease = version.includes('-');
  return [Number(major ?? 0), Number(minor), Number(patch), isPrerelease ? Number(rest ?? 0) : Number.MAX_SAFE_INTEGER];
}

export function isTrueOf({ from, until }: Pick<ProviderFact, 'from' | 'until'>, version: string): boolean {
  return (from === undefined || compareVersions(version, from) >= 0) && compareVersions(version, until) < 0;
}

export interface TextFile {
  /** As shown in messages. */
  readonly name: string;
  readonly text: string;
}

interface ProviderUse {
  readonly file: string;
  readonly line: number;
  /** `bpg/proxmox`. */
  readonly source: string;
  readonly version: string;
  /** From a lock file; a constraint only gives the oldest version that it allows. */
  readonly isExact: boolean;
}

export function providerUses(files: readonly TextFile[]): ProviderUse[] {
  const locked = files.filter(isLock).flatMap(usesInLock);
  const required = files.filter((file) => !isLock(file)).flatMap(usesInRequirements);
  // In its directory, the lock file decides which version runs.
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

/** 0.60 for `>= 0.60, < 0.80`; undefined if there is no lower bound. */
function oldestOf(bound: string): string | undefined {
  return bound
    .split(',')
    .map((part) => /^\s*(=|~>|>=|>)?\s*(\d\S*)\s*$/.exec(part)?.[2])
    .find((version) => version !== undefined);
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
