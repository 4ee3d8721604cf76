/**
 * Our provider beside another one for Proxmox VE, whose executable the user has built: the same VMs under the same real
 * Terraform, each on a simulator of its own over TLS, taking turns. Requests are counted; times are worth comparing only
 * within one run. Peers that write `proxmox_virtual_environment_vm` are understood.
 */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { WireRequest } from '../../src/base/transport.ts';
import { findHostPrograms, type HostProgram, type RunResult, Workspace } from '../../src/provider/testing/terraform.ts';
import {
  buildWorld,
  createSimulator,
  type Simulator,
  scaledClock,
  seededRandom,
  serveSimulator,
  systemClock,
} from '../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../src/simulator/world/default-world.ts';
import { bundleProvider } from '../provider/bundle.ts';
import { ADDRESS, packageVersion, programName } from '../provider/platforms.ts';
import type { Figure } from './engine.ts';
import { childrenCpuMs } from './measure.ts';

/** Plans are short, so the machine's noise weighs more; the median of several counts. */
const PLANS = 5;
/** The simulated cluster is this much faster than real time, so that the providers and not the clones take the time. */
const SPEED = 20;
const FIRST_ID = 1_000;
const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const PEER_ADDRESS = 'registry.terraform.io/bpg/proxmox';

interface Contestant {
  readonly address: string;
  readonly directory: string;
  readonly configuration: (count: number, endpoint: string) => string;
}

interface Cost {
  readonly requests: number;
  readonly ms: number;
  /** User and system time of Terraform and of every provider that it started. */
  readonly cpuMs: number;
}

type Costs = Readonly<Record<'create' | 'plan' | 'destroy', Cost>>;

export async function benchPeer(peer: string, counts: readonly number[]): Promise<readonly Figure[]> {
  const found = (await findHostPrograms()).find(({ name }) => name === 'terraform');
  if (!found) throw new Error('terraform is neither on the PATH nor named in PROXWRIGHT_TERRAFORM');
  const root = await mkdtemp(join(tmpdir(), 'proxwright-peer-'));
  try {
    const host = await metered(found, root);
    const own = { address: ADDRESS, directory: await mkdtemp(join(root, 'own-')), configuration: ownConfiguration };
    await bundleProvider(join(own.directory, programName(packageVersion(), '.cjs')));
    const other = {
      address: PEER_ADDRESS,
      directory: await mkdtemp(join(root, 'peer-')),
      configuration: peerConfiguration,
    };
    await copyFile(peer, join(other.directory, 'terraform-provider-proxmox'));
    const all: Compared[] = [];
    for (const count of counts) all.push({ count, costs: await compare(host, own, other, count) });
    return [...all.flatMap(figuresOf), ...perFurtherVm(all)];
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

interface Compared {
  readonly count: number;
  readonly costs: readonly [ours: Costs, theirs: Costs];
}

async function compare(host: HostProgram, own: Contestant, other: Contestant, count: number): Promise<[Costs, Costs]> {
  const contests = await Promise.all([open(host, own, count), open(host, other, count)]);
  try {
    return await costsOf(contests);
  } finally {
    for (const { close } of contests) await close();
  }
}

function figuresOf({ count, costs: [ours, theirs] }: Compared): Figure[] {
  return (['create', 'plan', 'destroy'] as const).map((what) => ({
    figure: `${what === 'plan' ? 'plan without changes of' : what} ${count} VMs, beside the peer`,
    measured: compared(ours[what], theirs[what]),
    ...judged(what, count, ours[what], theirs[what]),
  }));
}

/** With few VMs the start of the processes counts, with many the time that a plan takes. */
function judged(what: keyof Costs, count: number, ours: Cost, theirs: Cost): Pick<Figure, 'aim' | 'isMet'> {
  if (what === 'plan' && count === 5) return { aim: 'CPU ≤ 1.2 ×', isMet: ours.cpuMs <= 1.2 * theirs.cpuMs };
  const faster = what === 'plan' ? { 200: 3, 1000: 4 }[count] : undefined;
  if (faster === undefined) return { aim: 'printed, not judged', isMet: true };
  return { aim: `time ≤ 1/${faster} ×`, isMet: ours.ms * faster <= theirs.ms };
}

/** What the shared reads of a run cost is in the difference of neither. */
function perFurtherVm(all: readonly Compared[]): Figure[] {
  const [few, many] = [...all].sort((a, b) => a.count - b.count);
  if (!few || !many) return [];
  return (['create', 'destroy'] as const).map((what) => {
    const [ours = 0, theirs = 0] = [0, 1].map((which) => {
      const requests = (compared: Compared) => compared.costs[which as 0 | 1][what].requests;
      return (requests(many) - requests(few)) / (many.count - few.count);
    });
    return {
      figure: `${what}: requests per further VM, ${few.count} to ${many.count}`,
      measured: `${ours.toFixed(1)} = ${(ours / theirs).toFixed(2)} × ${theirs.toFixed(1)}`,
      aim: what === 'create' ? '≤ 20' : 'printed, not judged',
      isMet: what !== 'create' || ours <= 20,
    };
  });
}

function compared(ours: Cost, theirs: Cost): string {
  const requests = `${ours.requests} requests = ${(ours.requests / theirs.requests).toFixed(2)} × ${theirs.requests}`;
  const ratio = (what: 'ms' | 'cpuMs') =>
    `${seconds(ours[what])} = ${(ours[what] / theirs[what]).toFixed(2)} × ${seconds(theirs[what])}`;
  return `${requests}; time ${ratio('ms')}; CPU ${ratio('cpuMs')}`;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

const METER = 'PROXWRIGHT_BENCH_METER';

/** The host behind a shell that writes down what the host and everything that it waited for took of the processor. */
async function metered(host: HostProgram, directory: string): Promise<HostProgram> {
  const binary = join(directory, 'metered-host');
  // Further certificates are read at every start of Node, which an ordinary machine does not ask for.
  const script = `#!/bin/sh\nunset NODE_EXTRA_CA_CERTS\n'${host.binary}' "$@"\ncode=$?\ntimes >"$${METER}"\nexit $code\n`;
  await writeFile(binary, script, { mode: 0o755 });
  return { ...host, binary };
}

interface Contest {
  readonly measure: (command: 'apply' | 'plan' | 'destroy') => Promise<Cost>;
  readonly close: () => Promise<void>;
}

/** Never at the same time: they would take the machine from each other. */
async function costsOf(contests: readonly [Contest, Contest]): Promise<[Costs, Costs]> {
  const inTurn = async (command: 'apply' | 'plan' | 'destroy'): Promise<[Cost, Cost]> => [
    await contests[0].measure(command),
    await contests[1].measure(command),
  ];
  const create = await inTurn('apply');
  const plans: [Cost, Cost][] = [];
  for (let turn = 0; turn < PLANS; turn++) plans.push(await inTurn('plan'));
  const destroy = await inTurn('destroy');
  const costs = (which: 0 | 1): Costs => ({
    create: create[which],
    plan: medians(plans.map((pair) => pair[which])),
    destroy: destroy[which],
  });
  return [costs(0), costs(1)];
}

function medians(costs: readonly Cost[]): Cost {
  const median = (what: keyof Cost) =>
    costs.map((cost) => cost[what]).sort((a, b) => a - b)[Math.floor(costs.length / 2)] ?? 0;
  return { requests: median('requests'), ms: median('ms'), cpuMs: median('cpuMs') };
}

async function open(host: HostProgram, contestant: Contestant, count: number): Promise<Contest> {
  const clock = scaledClock(systemClock, SPEED);
  const simulator = createSimulator({ world: roomyWorld(clock.now()), clock, random: seededRandom('peer') });
  let requests = 0;
  const handle = (request: WireRequest) => {
    requests++;
    return simulator.handle(request);
  };
  // The simulator with our own `handle`, which is all that is called.
  const counted = Object.create(simulator, { handle: { value: handle } }) as Simulator;
  const server = await serveSimulator(counted, { host: '127.0.0.1', port: 0, speed: SPEED });
  const { address, directory, configuration } = contestant;
  const meter = join(directory, `cpu-${count}`);
  const workspace = await Workspace.create({
    host,
    address,
    installation: { kind: 'dev-override', directory },
    files: { 'main.tf': configuration(count, server.endpoint) },
    environment: {
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_API_TOKEN: TOKEN,
      [METER]: meter,
      ...(contestant.address === ADDRESS && { PROXMOX_VE_FINGERPRINT: server.fingerprint }),
    },
  });
  return {
    measure: async (command) => {
      const before = requests;
      const startedAt = performance.now();
      assertEnded(address, await workspace[command]());
      const ms = performance.now() - startedAt;
      return { requests: requests - before, ms, cpuMs: childrenCpuMs(await readFile(meter, 'utf8')) };
    },
    close: async () => {
      await workspace.remove();
      await server.close();
    },
  };
}

function assertEnded(address: string, { code, diagnostics, stderr }: RunResult): void {
  const said = diagnostics.map(({ summary, detail }) => `${summary}: ${detail ?? ''}`).join('\n');
  if (code !== 0) throw new Error(`${address}, code ${code}: ${said}\n${stderr}`);
}

/** Room for all, and storage that is never what one waits for. */
function roomyWorld(now: number) {
  const { nodes, storages = {} } = DEFAULT_WORLD;
  const roomy = Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, { ...node, memory: '4T' }]));
  const fast = { ...storages, 'local-lvm': { ...storages['local-lvm'], bandwidth: '1T' } };
  return buildWorld({ ...DEFAULT_WORLD, nodes: roomy, storages: fast }, { now, file: 'peer' });
}

function ownConfiguration(count: number): string {
  return `terraform {
  required_providers {
    proxwright = { source = "${ADDRESS}" }
  }
}
provider "proxwright" {}
resource "proxwright_vm" "vm" {
  count  = ${count}
  name   = "vm-\${count.index}"
  vmid   = ${FIRST_ID} + count.index
  node   = "pve1"
  clone  = { template = "ubuntu-24.04", mode = "linked" }
  memory = "512MiB"
  cpu    = { cores = 2 }
  stop_on_destroy = true
}
`;
}

function peerConfiguration(count: number, endpoint: string): string {
  return `terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}
provider "proxmox" {
  endpoint = "${endpoint}"
  # The certificate of the simulator lives as long as this run, on this machine.
  insecure = true
}
resource "proxmox_virtual_environment_vm" "vm" {
  count     = ${count}
  name      = "vm-\${count.index}"
  vm_id     = ${FIRST_ID} + count.index
  node_name = "pve1"
  clone {
    vm_id = 9000
    full  = false
  }
  memory {
    dedicated = 512
  }
  cpu {
    cores = 2
    type  = "x86-64-v2-AES"
  }
  agent {
    enabled = false
  }
  stop_on_destroy = true
}
`;
}
