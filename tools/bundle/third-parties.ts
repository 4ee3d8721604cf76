/** The third-party packages whose code is in ours: names, licences and required notices. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';

export interface ThirdParty {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** As npm records it: `sha512-…`. */
  readonly integrity: string;
}

interface LockFile {
  readonly packages: Readonly<Record<string, Partial<ThirdParty> | undefined>>;
}

/** By its folder, as the lock file names it: `node_modules/zod`. */
export async function thirdParty(folder: string): Promise<ThirdParty> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as LockFile; // our own file
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const { version, license, integrity } = packages[folder] ?? {};
  if (!version || !license || !integrity) throw new Error(`package-lock.json does not describe ${folder}.`);
  return { name, version, license, integrity };
}

export async function thirdPartyNotices(folders: readonly string[]): Promise<string> {
  const parts = ['Proxwright contains code of these packages, each under its own licence.\n'];
  for (const folder of folders) {
    const { name, version, license } = await thirdParty(folder);
    parts.push(`${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${await licenseText(folder)}\n`);
  }
  return parts.join('\n');
}

async function licenseText(folder: string): Promise<string> {
  const [file] = (await readdir(join(ROOT, folder))).filter((name) => /^licen[cs]e/i.test(name)).sort();
  return file === undefined
    ? 'It comes without the text of its licence.'
    : (await readFile(join(ROOT, folder, file), 'utf8')).trim();
}
