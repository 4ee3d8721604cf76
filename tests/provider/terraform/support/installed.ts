/** The provider as the host starts it itself, a process of its own for each command; bundled once for a test file. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Installation } from '../../../../src/provider/testing/terraform.ts';
import { bundleProvider } from '../../../../tools/provider/bundle.ts';

export interface Installed {
  readonly installation: Installation;
  remove(): Promise<void>;
}

export async function installProvider(): Promise<Installed> {
  const root = await mkdtemp(join(tmpdir(), 'proxwright-provider-'));
  await bundleProvider(join(root, 'terraform-provider-proxwright.cjs'));
  return {
    installation: { kind: 'dev-override', directory: root },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
