/**
 * Our provider beside another one for Proxmox VE, whose executable the user has built: the same VMs under the same real
 * Terraform, each on a simulator of its own over TLS, taking turns. Requests are counted; times are worth comparing only
 * within one run. Peers that write `proxmox_virtual_environment_vm` are understood.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
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

const SIZES = [5, 50, 200] as const;
const TURNS = 3;
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
}

type Costs = Readonly<Record<'create' | 'plan' | 'destroy', Cost>>;

export async function benchPeer(peer: string): Promise<readonly Figure[]> {
  const host = (await findHostPrograms()).find(({ name }) => name === 'terraform');
  if (!host) throw new Error('terraform is neither on the PATH nor named in PROXWRIGHT_TERRAFORM');
  const root = await mkdtemp(join(tmpdir(), 'proxwright-peer-'));
  try {
    const own = { address: ADDRESS, directory: await mkdtemp(join(root, 'own-')), configuration: ownConfiguration };
    await bundleProvider(join(own.directory, programName(packageVersion(), '.cjs')));
    const other = {
      address: PEER_ADDRESS,
      directory: await mkdtemp(join(root, 'peer-')),
      configuration: peerConfiguration,
    };
    await copyFile(peer, join(other.directory, 'terraform-provider-proxmox'));
    const figures: Figure[] = [];
    for (const count of SIZES) figures.push(...(await compare(host, own, other, count)));
    return figures;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function compare(host: HostProgram, own: Contestant, other: Contestant, count: number): Promise<Figure[]> {
  const contests = await Promise.all([open(host, own, count), open(host, other, count)]);
  try {
    const [ours, theirs] = await costsOf(contests);
    return (['create', 'plan', 'destroy'] as const).map((what) => ({
      figure: `${what === 'plan' ? 'plan without changes of' : what} ${count} VMs, beside the peer`,
      measured: compared(ours[what], theirs[what]),
      aim: 'printed, not judged',
      isMet: true,
    }));
  } finally {
    for (const { close } of contests) await close();
  }
}

function compared(ours: Cost, theirs: Cost): string {
  const requests = `${ours.requests} requests = ${(ours.requests / theirs.requests).toFixed(2)} × ${theirs.requests}`;
  return `${requests}; ${seconds(ours.ms)} = ${(ours.ms / theirs.ms).toFixed(2)} × ${seconds(theirs.ms)}`;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

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
  for (let turn = 0; turn < TURNS; turn++) plans.push(await inTurn('plan'));
  const destroy = await inTurn('destroy');
  return [0, 1].map((which) => ({
    create: create[which],
    plan: plans.map((pair) => pair[which]).sort((a, b) => (a?.ms ?? 0) - (b?.ms ?? 0))[Math.floor(TURNS / 2)],
    destroy: destroy[which],
  })) as [Costs, Costs]; // one of each was measured
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
  const workspace = await Workspace.create({
    host,
    address,
    installation: { kind: 'dev-override', directory },
    files: { 'main.tf': configuration(count, server.endpoint) },
    environment: {
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_API_TOKEN: TOKEN,
      ...(contestant.address === ADDRESS && { PROXMOX_VE_FINGERPRINT: server.fingerprint }),
    },
  });
  return {
    measure: async (command) => {
      const before = requests;
      const startedAt = performance.now();
      assertEnded(address, await workspace[command]());
      return { requests: requests - before, ms: performance.now() - startedAt };
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
