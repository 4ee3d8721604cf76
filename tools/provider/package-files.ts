/** A package before it is written down, and the hash by which lock files know it. */
import { createHash } from 'node:crypto';

export interface PackageFile {
  /** Relative to the package, with slashes. */
  readonly name: string;
  readonly isExecutable: boolean;
  readonly bytes: Uint8Array;
}

/**
 * The `h1:` hash: names and contents count, modes and compression do not. Packages with the same files have the same hash,
 * whatever platform they are named for.
 */
export function packageHash(files: readonly PackageFile[]): string {
  const lines = byName(files).map(({ name, bytes }) => `${sha256(bytes)}  ${name}\n`);
  return `h1:${createHash('sha256').update(lines.join('')).digest('base64')}`;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** By bytes and not by language, as the hash wants it. */
export function byName<Named extends { readonly name: string }>(files: readonly Named[]): Named[] {
  return [...files].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}
