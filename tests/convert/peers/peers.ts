/**
 * The providers that people come from, as executables: `PROXWRIGHT_BPG` and `PROXWRIGHT_TELMATE` name them. A missing one is
 * reported, so that no test is skipped silently.
 */
import { access, constants, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const CHOICES = [
  { name: 'bpg', variable: 'PROXWRIGHT_BPG', address: 'registry.terraform.io/bpg/proxmox' },
  { name: 'telmate', variable: 'PROXWRIGHT_TELMATE', address: 'registry.terraform.io/telmate/proxmox' },
] as const;

export interface Peer {
  readonly name: 'bpg' | 'telmate';
  readonly address: string;
  readonly binary: string;
}

export async function findPeers(): Promise<readonly Peer[]> {
  const found: Peer[] = [];
  for (const { name, variable, address } of CHOICES) {
    const binary = process.env[variable];
    const isHere =
      binary &&
      (await access(binary, constants.X_OK).then(
        () => true,
        () => false,
      ));
    if (isHere) found.push({ name, address, binary: resolve(binary) });
    else process.stderr.write(`skipped: conversions of what ${name} made; ${variable} names no executable\n`);
  }
  return found;
}

/** A configuration of the host by which it starts these executables; our own provider is served by the test. */
export async function overridesFor(peers: readonly Peer[], directory: string): Promise<string> {
  const lines: string[] = [];
  for (const { name, address, binary } of peers) {
    const folder = join(directory, name);
    await mkdir(folder, { recursive: true });
    await symlink(binary, join(folder, 'terraform-provider-proxmox'));
    lines.push(`    "${address}" = ${JSON.stringify(folder)}`);
  }
  const file = join(directory, 'peers.tfrc');
  await writeFile(file, `provider_installation {\n  dev_overrides {\n${lines.join('\n')}\n  }\n}\n`);
  return file;
}
