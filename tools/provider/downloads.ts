/**
 * What an executable is made of besides our own script, fetched once and kept outside the checkout. Every file is named
 * with its hash, so that neither a registry nor the way to it can put something else into a package.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from './package-files.ts';

export interface Download {
  readonly url: string;
  readonly sha256: string;
}

const PATIENCE_MS = 180_000;

export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'proxwright', 'downloads');
}

export async function fetchDownload(download: Download, directory: string = cacheDirectory()): Promise<Buffer> {
  const path = join(directory, `${download.sha256.slice(0, 16)}-${download.url.split('/').at(-1)}`);
  const kept = await readFile(path).catch(() => undefined);
  if (kept && sha256(kept) === download.sha256) return kept;
  const bytes = await fetched(download.url);
  const found = sha256(bytes);
  if (found !== download.sha256) throw new Error(`${download.url} has the SHA-256 ${found}, not ${download.sha256}.`);
  await mkdir(directory, { recursive: true });
  // Two that fetch at once each write a file of their own, and the second takes the place of the first.
  const unfinished = `${path}.${randomUUID()}`;
  await writeFile(unfinished, bytes);
  await rename(unfinished, path);
  return bytes;
}

async function fetched(url: string): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    throw new Error(`${url} cannot be fetched.`, { cause });
  }
}
