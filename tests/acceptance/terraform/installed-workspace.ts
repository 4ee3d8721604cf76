/** A workspace with the provider as users install it and the server of the suite in its environment. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HostProgram, Workspace } from '../../../src/provider/testing/terraform.ts';
import { bundleProvider } from '../../../tools/provider/bundle.ts';
import { ADDRESS, packageVersion, programName } from '../../../tools/provider/platforms.ts';
import type { AcceptanceServer } from '../server.ts';

const CONNECTION = /^(PROXMOX_|PM_)/;

export interface InstalledWorkspace {
  readonly workspace: Workspace;
  remove(): Promise<void>;
}

export async function installedWorkspace(host: HostProgram, server: AcceptanceServer): Promise<InstalledWorkspace> {
  const bin = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
  await bundleProvider(join(bin, programName(packageVersion(), '.cjs')));
  // The workspace hides the user's settings; those of the server are what this is about.
  const own = Object.entries(process.env).filter((entry): entry is [string, string] => CONNECTION.test(entry[0]));
  const workspace = await Workspace.create({
    host,
    address: ADDRESS,
    installation: { kind: 'dev-override', directory: bin },
    environment: { ...Object.fromEntries(own), ...server.environment },
  });
  return {
    workspace,
    remove: async () => {
      await workspace.remove();
      rmSync(bin, { recursive: true, force: true });
    },
  };
}
