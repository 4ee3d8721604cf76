/** Small configurations and what tests do with them again and again. */

import { printOwnership } from '../../../src/kinds/vm/ownership.ts';
import type { ProviderDiagnostic } from '../../../src/provider/provider.ts';
import { dottedOf } from '../../../src/provider/values/diagnostics.ts';
import { problemsOf } from './kill-everywhere.ts';
import type { Config, ToyHost } from './toy-host.ts';
import { type ProcessOptions, type ProviderProcess, VmBench } from './vm-bench.ts';

/** Starts at once, without waiting for its guest. */
export const SMALL: Config = {
  name: 'web',
  node: 'pve1',
  clone: { template: 'ubuntu-24.04' },
  memory: '1GiB',
};

export async function make(host: ToyHost, config: Config): Promise<void> {
  const problems = problemsOf(await host.apply(config));
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

/** A bench with this VM made, and a fresh process whose host knows it. */
export async function withMade(
  config: Config,
  story: (bench: VmBench, next: (options?: ProcessOptions) => ProviderProcess) => Promise<void>,
): Promise<void> {
  const bench = new VmBench();
  await bench.run(async () => {
    let { host } = bench.process();
    await make(host, config);
    await story(bench, (options) => {
      const process = bench.process(options);
      process.host.instance = host.instance;
      host = process.host;
      return process;
    });
  });
}

/** Severity, attribute and the first line of what is said. */
export const told = ({ severity, path = [], detail }: ProviderDiagnostic) =>
  `${severity} ${dottedOf(path) || '-'}: ${detail.split('\n')[0]}`;

/** Of an error, its code. */
export const codes = (diagnostics: readonly ProviderDiagnostic[]) =>
  diagnostics.map(({ detail, summary }) => /\[([A-Z_]+)\]$/.exec(detail)?.[1] ?? summary);

/** A VM as an interrupted creation leaves it, of this token and with this name in its mark. */
export async function plantIncomplete(
  bench: VmBench,
  { vmid, name = 'web', token = 'root@pam!admin' }: { vmid: number; name?: string; token?: string },
): Promise<void> {
  const address = `vm.${name}`;
  const line = { stack: `terraform/${token}`, address, vmid, nonce: `nonce-${vmid}`, incomplete: true };
  const pve = bench.outside();
  const values = { vmid, name, memory: 512, description: printOwnership(line) };
  await pve.tasks.wait(await pve.node('pve1').vms.create(values));
}
