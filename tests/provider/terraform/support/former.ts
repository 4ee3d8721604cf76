/** A host that finds resources of another provider in its state: that provider is asked for its schema and nothing else. */
import { silentLogger } from '../../../../src/base/log.ts';
import { createProvider } from '../../../../src/provider/index.ts';
import { PROVIDER_ADDRESS, reattach } from '../../../../src/provider/testing/reattach.ts';
import type { RunResult } from '../../../../src/provider/testing/terraform.ts';
import type { Scene } from './scene.ts';

export interface Former {
  readonly type: string;
  readonly provider: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** As much of its state as matters here. */
export function formerState(resources: readonly (Former & { readonly name: string })[]): string {
  return JSON.stringify({
    version: 4,
    terraform_version: '1.8.0',
    serial: 1,
    lineage: '6f0c5c1e-1f2a-4a0f-8c0e-3a54e0a0b111',
    outputs: {},
    resources: resources.map(({ type, name, provider, attributes }) => ({
      mode: 'managed',
      type,
      name,
      provider: `provider["${provider}"]`,
      instances: [{ schema_version: 0, attributes }],
    })),
  });
}

export async function runBesideFormer(scene: Scene, args: readonly string[], former: string): Promise<RunResult> {
  const environment = { ...scene.environment };
  const provider = await createProvider({ log: silentLogger, environment, directory: scene.workspace.directory });
  const attached = await reattach(provider);
  const plugins = JSON.parse(attached.environment.TF_REATTACH_PROVIDERS) as Record<string, unknown>;
  const ours = plugins[PROVIDER_ADDRESS];
  // OpenTofu looks for the same provider in a registry of its own.
  const others = [former, former.replace('registry.terraform.io', 'registry.opentofu.org')];
  const both = { ...plugins, ...Object.fromEntries(others.map((address) => [address, ours])) };
  try {
    return await scene.workspace.run(args, { TF_REATTACH_PROVIDERS: JSON.stringify(both) });
  } finally {
    attached.close();
  }
}
