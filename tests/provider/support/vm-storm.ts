/**
 * One story per seed: VMs of a configuration are made and changed while trouble of many kinds strikes and some processes are
 * killed. When it is over, the next apply must converge, and nothing may be doubled, touched that is not ours, or left.
 */
import { passwordCredentials } from '../../../src/pve/index.ts';
import { type Strike, seededRandom } from '../../../src/simulator/index.ts';
import { administer } from '../../simulation/engine/support/storm.ts';
import { faultsOf, killAt, type Trouble, troublesOf } from '../../simulation/engine/support/troubles.ts';
import { applyOrImport, hostOf, problemsOf } from './kill-everywhere.ts';
import type { Config, Outcome, ToyHost } from './toy-host.ts';
import { type ProcessOptions, VmBench } from './vm-bench.ts';
import { othersPicture, worldComplaints } from './vm-invariants.ts';

export interface StormEnd {
  readonly complaints: readonly string[];
  readonly strikes: readonly Strike[];
  /** First lines of what went wrong on the way. */
  readonly errors: readonly string[];
  readonly imports: number;
  readonly attempts: number;
}

/** Longer than any lock or outage that a seed can draw. */
const CALM_MS = 600_000;
const ATTEMPTS_PER_CONFIG = 2;
const ROOT = passwordCredentials({ username: 'root@pam', password: 'proxwright' });
const TIMEOUTS = { ready: '3m', lock: '3m' };

const COMMON = { node: 'pve1', restart: 'when_needed', stop_on_destroy: true, timeouts: TIMEOUTS };
const CLONED: Config = { ...COMMON, clone: { template: 'ubuntu-24.04', mode: 'full' }, boot: ['scsi0', 'net0'] };

/** Cloned, cloned with a guest that is waited for, and made from nothing. */
const FIRST: readonly Config[] = [
  { ...CLONED, name: 'web-1', memory: '2GiB', cpu: { cores: 4 }, disks: { scsi0: { size: '10GiB' } }, tags: ['lab'] },
  { ...CLONED, name: 'web-2', memory: '2GiB', disks: { scsi0: { size: '10GiB' } }, tags: ['lab'] },
  {
    ...COMMON,
    name: 'db',
    memory: '2GiB',
    guest: 'cloud-init',
    clone: { template: 'ubuntu-24.04', mode: 'linked' },
    cloud_init: { user: 'admin' },
    disks: { scsi1: { storage: 'local-lvm', size: '2GiB' } },
  },
  {
    ...COMMON,
    name: 'empty',
    memory: '2GiB',
    disks: { scsi0: { storage: 'nfs', size: '1GiB', format: 'qcow2' } },
    nics: { net0: { bridge: 'vmbr1', vlan: 30 } },
    scsi_controller: 'virtio-scsi-single',
    boot: ['net0'],
    restart: 'never',
  },
];

const SECOND: readonly Config[] = FIRST.map((config) => ({
  ...config,
  memory: '3GiB',
  tags: ['prod', 'lab'],
  ...(config.name === 'empty' && { nics: { net0: { bridge: 'vmbr1', vlan: 40 } } }),
  ...(config.name === 'web-1' && { disks: { scsi0: { size: '12GiB' } } }),
}));

/** Who writes over the notes of a VM that is being made takes its mark away, and by that the VM from us. */
const isOurs = (trouble: Trouble) => trouble.kind === 'kill' || trouble.rule.kind !== 'stranger-edit';

export async function vmStorm(seed: number): Promise<StormEnd> {
  const troubles = troublesOf(seed).filter(isOurs);
  const bench = new VmBench({ seed, faults: faultsOf(troubles, seededRandom(`storm ${seed}`).fork('strikes')) });
  // Tickets can expire, tokens cannot: both take part.
  const options: ProcessOptions = seed % 2 === 1 ? { credentials: ROOT } : {};
  const before = othersPicture(bench.world);
  const errors: string[] = [];
  const complaints: string[] = [];
  let attempts = 0;
  let hosts: readonly ToyHost[] = FIRST.map(() => hostOf(bench.process(options), {}));
  for (const configs of [FIRST, SECOND]) {
    for (let attempt = 1; attempt <= ATTEMPTS_PER_CONFIG; attempt++) {
      attempts++;
      const process = bench.process({ ...options, killAt: killAt(troubles, attempts) });
      hosts = hosts.map(({ instance }) => hostOf(process, { instance }));
      const work = () => Promise.all(hosts.map((host, index) => host.apply(configs[index] ?? null)));
      const end = await bench.run(() => process.orDeath(work()));
      complaints.push(...doubled(bench).map((each) => `after attempt ${attempts}: ${each}`));
      const problems = 'kind' in end ? ['killed'] : end.flatMap(problemsOf);
      errors.push(...problems.map((problem) => problem.split('\n')[0] ?? ''));
      if (problems.length === 0) break;
    }
  }
  complaints.push(...errors.filter((error) => error.startsWith('Internal error')));
  bench.faults.stop();
  await bench.clock.advance(CALM_MS);
  administer(bench);
  const calm = await calmEnd(bench, hosts, options, before);
  return {
    complaints: [...complaints, ...calm.complaints],
    strikes: bench.faults.strikes,
    errors,
    attempts,
    imports: calm.imports,
  };
}

/** When nothing goes wrong any more: all of it stands, once, the plan is empty, and a destroy leaves nothing. */
async function calmEnd(bench: VmBench, hosts: readonly ToyHost[], options: ProcessOptions, before: string) {
  const names = SECOND.map(({ name }) => String(name));
  const fresh = () => {
    const process = bench.process(options);
    return (host: ToyHost) => hostOf(process, { instance: host.instance });
  };
  return bench.run(async () => {
    const complaints: string[] = [];
    const said = (prefix: string, found: readonly string[]) =>
      complaints.push(...found.map((each) => `${prefix}: ${each}`));
    const ends = await Promise.all(
      hosts.map(fresh()).map((host, index) => applyOrImport(bench, host, SECOND[index] ?? null)),
    );
    said(
      'apply',
      ends.flatMap((end) => end.complaints),
    );
    const later = ends.map((end) => end.host).map(fresh());
    const plans = await Promise.all(later.map((host, index) => host.plan(SECOND[index] ?? null)));
    said('plan', plans.flatMap(unplanned));
    complaints.push(...worldComplaints(bench.world, names, before));
    const last = later.map(fresh());
    const gone = await Promise.all(last.map((host) => (host.instance ? host.apply(null) : undefined)));
    said(
      'destroy',
      gone.flatMap((outcome) => (outcome ? problemsOf(outcome) : [])),
    );
    said(
      'destroyed',
      worldComplaints(bench.world, [], before).filter((each) => !isNamed(bench, each)),
    );
    return { complaints, imports: ends.filter(({ isImported }) => isImported).length };
  });
}

function unplanned(outcome: Outcome): string[] {
  const action = outcome.action === 'none' ? [] : [`${outcome.action} of ${outcome.changed}`];
  return [...action, ...problemsOf(outcome)];
}

/** What Proxmox itself orphans is to be named, with the command that removes it. */
function isNamed({ logs }: VmBench, complaint: string): boolean {
  const volume = /^orphan volume (\S+)$/.exec(complaint)?.[1];
  return volume !== undefined && logs.some((line) => line.startsWith('warn') && line.includes(`pvesm free ${volume}`));
}

function doubled(bench: VmBench): string[] {
  return FIRST.map(({ name }) => String(name)).flatMap((name) => {
    const found = bench.called(name);
    return found.length > 1 ? [`${found.length} VMs are called ${name}`] : [];
  });
}
