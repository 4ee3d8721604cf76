/** Which providers Terraform files ask for: from lock files exactly, from requirements as a bound. Reads text, not HCL as such. */

export interface TextFile {
  /** As messages name it. */
  readonly name: string;
  readonly text: string;
}

export interface ProviderUse {
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
