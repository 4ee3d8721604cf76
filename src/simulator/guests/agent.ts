/**
 * The answers of the guest agent. Checks and HTTP messages belong to the routes; here the agent is known to be up.
 * Results have the shape QEMU's agent gives them.
 */
import type { Runtime } from '../core/runtime.ts';
import type { QemuProcess, Vm } from '../world/world.ts';
import { type GuestInterface, guestInterfaces } from './addresses.ts';
import { guestHostName } from './guest.ts';
import { memoryBytes } from './launch.ts';
import { type GuestContext, readGuestFile, runProgram } from './programs.ts';

/** Rule [recorded guest-agent]: version and commands of the agent in the Debian template. */
const AGENT_VERSION = '10.0.13';
const COMMANDS =
  'network-get-route get-load get-cpustats get-diskstats ssh-remove-authorized-keys ssh-add-authorized-keys ' +
  'ssh-get-authorized-keys get-osinfo get-timezone get-users get-host-name exec exec-status get-memory-block-info ' +
  'set-memory-blocks get-memory-blocks set-user-password get-fsinfo get-disks set-vcpus get-vcpus suspend-hybrid ' +
  'suspend-ram suspend-disk network-get-interfaces fstrim fsfreeze-thaw fsfreeze-freeze-list fsfreeze-freeze ' +
  'fsfreeze-status file-flush file-seek file-write file-read file-close file-open shutdown info set-time get-time ' +
  'ping sync sync-delimited';
const SILENT_COMMANDS = new Set(['suspend-hybrid', 'suspend-ram', 'suspend-disk', 'shutdown']);
/** Rule [assumed]: with frozen file systems the agent keeps to what cannot write to a log. */
const ALLOWED_WHILE_FROZEN = new Set(['ping', 'info', 'fsfreeze-status', 'fsfreeze-thaw', 'sync', 'sync-delimited']);

const frozenGuests = new WeakSet<QemuProcess>();

export interface AgentSession {
  readonly runtime: Runtime;
  readonly vm: Vm;
  readonly process: QemuProcess;
  /** How the guest changes its own power state; the caller ends QEMU. */
  readonly power: { off(): void; sleep(): void };
}

/** Rule [source QS API2/Qemu/Agent.pm register_command]: an error of the agent is a result like any other. */
export function agentCommand(session: AgentSession, command: string): unknown {
  const { process } = session;
  if (frozenGuests.has(process) && !ALLOWED_WHILE_FROZEN.has(command)) {
    return agentError('CommandNotFound', `Command guest-${command} has been disabled: the agent is in frozen state`);
  }
  const answer = ANSWERS[command];
  return answer ? answer(session) : agentError('CommandNotFound', `The command guest-${command} has not been found`);
}

/** The process id in the guest, or undefined when there is no such program. */
export function startExecution(session: AgentSession, command: readonly string[], input: string): number | undefined {
  const { runtime, vm, process } = session;
  if (!process.guest) return undefined;
  const now = runtime.clock.now();
  const context: GuestContext = {
    hostName: guestHostName(vm, process),
    guest: process.guest,
    uptimeMs: now - process.guestBootedAt,
    readFile: (path) => readGuestFile(vm, process, path),
  };
  const result = runProgram(command, context, input);
  if (!result) return undefined;
  const pid = 600 + Math.floor((now - process.guestBootedAt) / 100) + process.executions.size;
  const { exitCode, stdout, stderr, runsForMs } = result;
  process.executions.set(pid, { pid, endsAt: now + runsForMs, exitCode, stdout, stderr });
  return pid;
}

/** Undefined when the agent does not know the process; a finished one is reported once and then forgotten. */
export function executionStatus(session: AgentSession, pid: number): Record<string, unknown> | undefined {
  const execution = session.process.executions.get(pid);
  if (!execution) return undefined;
  if (session.runtime.clock.now() < execution.endsAt) return { exited: 0 };
  session.process.executions.delete(pid);
  return {
    exited: 1,
    exitcode: execution.exitCode,
    ...(execution.stdout === '' ? {} : { 'out-data': execution.stdout, 'out-truncated': 0 }),
    ...(execution.stderr === '' ? {} : { 'err-data': execution.stderr, 'err-truncated': 0 }),
  };
}

export function agentError(kind: string, description: string): { readonly error: { class: string; desc: string } } {
  return { error: { class: kind, desc: description } };
}

const MEMORY_BLOCK_BYTES = 128 * 1024 * 1024;

const ANSWERS: Readonly<Record<string, (session: AgentSession) => unknown>> = {
  ping: () => ({}),
  info: () => ({
    version: AGENT_VERSION,
    supported_commands: COMMANDS.split(' ').map((name) => ({
      name: `guest-${name}`,
      enabled: true,
      'success-response': !SILENT_COMMANDS.has(name),
    })),
  }),
  'get-time': ({ runtime }) => runtime.clock.now() * 1_000_000,
  'get-timezone': () => ({ offset: 0, zone: 'UTC' }),
  'get-users': () => [],
  'get-host-name': ({ vm, process }) => ({ 'host-name': guestHostName(vm, process) }),
  'get-osinfo': ({ process }) => osInfo(process),
  'get-vcpus': ({ process }) =>
    Array.from({ length: cpuCount(process) }, (_, id) => ({ 'logical-id': id, online: true, 'can-offline': id > 0 })),
  // Rule [observed 9.2.11]: Linux divides memory into blocks of 128 MiB and says that any of them may go.
  'get-memory-blocks': ({ process }) =>
    Array.from({ length: Math.ceil(memoryBytes(process.launched) / MEMORY_BLOCK_BYTES) }, (_, index) => ({
      'phys-index': index,
      online: true,
      'can-offline': true,
    })),
  'get-memory-block-info': () => ({ size: MEMORY_BLOCK_BYTES }),
  'get-fsinfo': ({ process }) => fileSystems(process),
  'network-get-interfaces': ({ runtime, vm, process }) => [
    LOOPBACK,
    ...guestInterfaces(runtime, vm, process).map(interfaceView),
  ],
  'fsfreeze-status': ({ process }) => (frozenGuests.has(process) ? 'frozen' : 'thawed'),
  'fsfreeze-freeze': ({ process }) => {
    frozenGuests.add(process);
    return 1;
  },
  'fsfreeze-thaw': ({ process }) => (frozenGuests.delete(process) ? 1 : 0),
  fstrim: () => ({ paths: [{ path: '/', trimmed: 0, minimum: 0 }] }),
  shutdown: ({ power }) => {
    power.off();
    return null;
  },
  'suspend-disk': ({ power }) => {
    power.off();
    return null;
  },
  'suspend-ram': ({ power }) => {
    power.sleep();
    return null;
  },
  'suspend-hybrid': ({ power }) => {
    power.sleep();
    return null;
  },
};

const NO_TRAFFIC = {
  'rx-bytes': 0,
  'rx-dropped': 0,
  'rx-errs': 0,
  'rx-packets': 0,
  'tx-bytes': 0,
  'tx-dropped': 0,
  'tx-errs': 0,
  'tx-packets': 0,
};

/** Rule [recorded guest-agent]: the loopback interface comes first. */
const LOOPBACK = {
  name: 'lo',
  'hardware-address': '00:00:00:00:00:00',
  'ip-addresses': [
    { 'ip-address': '127.0.0.1', 'ip-address-type': 'ipv4', prefix: 8 },
    { 'ip-address': '::1', 'ip-address-type': 'ipv6', prefix: 128 },
  ],
  statistics: NO_TRAFFIC,
};

function interfaceView(nic: GuestInterface): Record<string, unknown> {
  return {
    name: nic.name,
    'hardware-address': nic.mac,
    // Before the network is configured the agent leaves the list out altogether.
    ...(nic.addresses.length === 0
      ? {}
      : {
          'ip-addresses': nic.addresses.map(({ address, family, prefix }) => ({
            'ip-address': address,
            'ip-address-type': family,
            prefix,
          })),
        }),
    statistics: NO_TRAFFIC,
  };
}

function osInfo(process: QemuProcess): Record<string, string> {
  const { id = '', name = '', version = '', kernel = '' } = process.guest?.os ?? {};
  const [number = ''] = version.split(' ');
  return {
    id,
    name,
    version,
    'version-id': number.split('.').slice(0, 2).join('.'),
    'pretty-name': `${name} ${id === 'debian' ? version : version.replace(/ \(.*\)$/, '')}`,
    machine: 'x86_64',
    'kernel-release': kernel,
    'kernel-version': '#1 SMP PREEMPT_DYNAMIC',
  };
}

function cpuCount(process: QemuProcess): number {
  return Number(process.launched.get('cores') ?? 1) * Number(process.launched.get('sockets') ?? 1);
}

function fileSystems(process: QemuProcess): unknown[] {
  const bootDisk = [...process.launched.keys()].find((key) => /^(scsi|virtio|sata)0$/.test(key)) ?? 'scsi0';
  return [
    {
      name: 'sda1',
      mountpoint: '/',
      type: 'ext4',
      'used-bytes': 883_699_712,
      'total-bytes': 3_944_611_840,
      'total-bytes-privileged': 4_156_882_944,
      disk: [
        {
          dev: '/dev/sda',
          'bus-type': 'scsi',
          bus: 0,
          target: 0,
          unit: 0,
          serial: `0QEMU_QEMU_HARDDISK_drive-${bootDisk}`,
          'pci-controller': { domain: 0, bus: 1, slot: 1, function: 0 },
        },
      ],
    },
  ];
}
