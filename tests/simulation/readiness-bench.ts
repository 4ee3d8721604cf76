/** VMs of the simulator with guests of one kind, a client that is watched, and waits for readiness on virtual time. */
import { vmAddress } from '../../src/base/address.ts';
import type { Logger } from '../../src/base/log.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Transport } from '../../src/base/transport.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { GuestSigns } from '../../src/kinds/guest-signs.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../../src/kinds/vm/fields/index.ts';
import { readyChecks, readyTarget } from '../../src/kinds/vm/ready/checks.ts';
import { type Readiness, waitUntilReady } from '../../src/kinds/vm/ready/wait.ts';
import { createPve, parseToken } from '../../src/pve/index.ts';
import { isPortOpen } from '../../src/simulator/guests/addresses.ts';
import {
  buildWorld,
  createSimulator,
  type FaultRuleInput,
  ruleFaults,
  type WorldFile,
} from '../../src/simulator/index.ts';

const SECRET = '00000000-0000-4000-8000-000000000001';
const credentials = parseToken(`root@pam!ci=${SECRET}`);
export const FIRST = 401;

interface BenchOptions {
  readonly guest?: string;
  readonly count?: number;
  readonly config?: Readonly<Record<string, string>>;
  readonly guests?: WorldFile['guests'];
  readonly faults?: readonly FaultRuleInput[];
  readonly log?: Logger;
  /** A release of Proxmox VE. */
  readonly version?: string;
  /** What the client may do; everything where nothing is said. */
  readonly privileges?: readonly string[];
}

interface WaitOptions {
  readonly vmid?: number;
  readonly signal?: AbortSignal;
  /** Its cards, as they were recorded. */
  readonly macs?: Readonly<Record<string, string>>;
}

/** Stopped VMs from 401 on, each with a disk that holds the guest. */
export function bench({
  guest = 'ubuntu-agent',
  count = 1,
  config = {},
  guests = {},
  faults = [],
  log,
  version,
  privileges,
}: BenchOptions = {}) {
  const clock = new VirtualClock();
  const vmids = Array.from({ length: count }, (_, index) => FIRST + index);
  const macOf = (vmid: number) =>
    `BC:24:11:00:${vmid.toString(16).padStart(4, '0').replace(/../, '$&:').toUpperCase()}`;
  const file: WorldFile = {
    version,
    nodes: {
      pve1: {
        memory: '512G',
        bridges: { vmbr0: { dhcp: { first: '10.0.0.50', last: '10.0.0.250' } }, vmbr1: {} },
        filesystems: { root: { total: '4T' } },
      },
    },
    storages: {
      tank: {
        type: 'lvmthin',
        options: { vgname: 'pve', thinpool: 'data' },
        volumes: vmids.map((vmid) => ({ name: `vm-${vmid}-disk-0`, size: '4G', guest })),
      },
    },
    guests,
    vms: Object.fromEntries(
      vmids.map((vmid) => [
        vmid,
        {
          config: {
            agent: '1',
            boot: 'order=scsi0',
            memory: '1024',
            name: `web-${vmid}`,
            net0: `virtio=${macOf(vmid)},bridge=vmbr0`,
            scsi0: `tank:vm-${vmid}-disk-0,size=4G`,
            smbios1: `uuid=5e0c4a77-7886-477f-ad9d-${String(vmid).padStart(12, '0')}`,
            ...config,
          },
        },
      ]),
    ),
    users: {
      'root@pam': { tokens: { ci: { secret: SECRET, privsep: false } } },
      'few@pve': { tokens: { ci: { secret: SECRET, privsep: false } } },
    },
    roles: { Few: [...(privileges ?? [])] },
    acl: [{ path: '/', role: 'Few', user: 'few@pve' }],
  };
  const simulator = createSimulator({
    world: buildWorld(file, { now: clock.now() }),
    clock,
    random: seededRandom('readiness'),
    faults: ruleFaults(faults),
  });
  const traffic = new Traffic(simulator.transport());
  const pve = createPve({
    transport: traffic,
    credentials: privileges ? parseToken(`few@pve!ci=${SECRET}`) : credentials,
    clock,
    random: seededRandom('client'),
  });
  const greedyPve = () =>
    createPve({
      transport: simulator.transport(),
      credentials,
      clock,
      random: seededRandom('greedy'),
      limits: { requests: 1_000, agentCalls: 1_000 },
    });
  const start = async (vmid = FIRST) => {
    await pve.tasks.wait(await pve.node('pve1').vm(vmid).status.start(), { timeoutMs: 60_000 });
  };
  const progress: string[] = [];
  const signs = new GuestSigns(pve, clock);
  const wait = (
    fields: Partial<VmFieldsInput> = { guest: 'cloud-init' },
    { vmid = FIRST, signal, macs = { net0: macOf(vmid) } }: WaitOptions = {},
  ): Promise<Readiness> => {
    const resolved = vmFieldsSchema.parse({ name: `web-${vmid}`, node: 'pve1', ...fields });
    const target = readyTarget(vmAddress('web', vmid), resolved, { vmid, node: 'pve1', macs });
    const ports = { isOpen: async (address: string, port: number) => isPortOpen(simulator.runtime, address, port) };
    const context = {
      pve,
      clock,
      log: log ?? silentLogger,
      ports,
      signs,
      signal,
      progress: (text: string) => progress.push(text),
    };
    return waitUntilReady(context, target, readyChecks(resolved, 600_000));
  };
  const vmOf = (vmid = FIRST) => {
    const vm = simulator.world.vms.get(vmid);
    if (!vm) throw new Error(`no VM ${vmid}`);
    return vm;
  };
  const processOf = (vmid = FIRST) => {
    const { process } = vmOf(vmid);
    if (!process) throw new Error(`VM ${vmid} does not run`);
    return process;
  };
  return { clock, pve, greedyPve, traffic, start, wait, signs, progress, vmids, vmOf, processOf };
}

/** Watches what goes over the wire. */
class Traffic implements Transport {
  readonly #inner: Transport;
  readonly requests: string[] = [];
  #agentCalls = 0;
  mostAgentCalls = 0;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  get agentRequests(): string[] {
    return this.requests.filter((request) => request.includes('/agent/'));
  }

  async send(...[request, options]: Parameters<Transport['send']>) {
    const shown = `${request.method} ${request.target.replace(/\?.*/, '')}`;
    const isAgentCall = shown.includes('/agent/');
    this.requests.push(shown);
    if (isAgentCall) this.mostAgentCalls = Math.max(this.mostAgentCalls, ++this.#agentCalls);
    try {
      return await this.#inner.send(request, options);
    } finally {
      if (isAgentCall) this.#agentCalls--;
    }
  }

  close = () => this.#inner.close();
}
