/** Why a QEMU process does not start although its command line could be built: the messages of QEMU before it exits. */
import { splitProperty } from '../../pve/wire/index.ts';
import { memoryMiB } from '../vm/machine.ts';

type Config = ReadonlyMap<string, string>;

/** The lines QEMU leaves in the task's log before it exits with code 1; nothing if it runs. */
export function qemuRefusal(config: Config, hostMemoryBytes: number, qemuVersion: string): string[] | undefined {
  return (
    unknownArgument(config) ??
    unsupportedMachine(config, qemuVersion) ??
    impossibleTopology(config) ??
    hostCpuWithoutKvm(config) ??
    tooMuchMemory(config, hostMemoryBytes)
  );
}

/** Rule [recorded start-refused-by-qemu]: options QEMU does not have; which ones it has is known here only for the common ones. */
function unknownArgument(config: Config): string[] | undefined {
  const first = /^\s*(-\S+)/.exec(config.get('args') ?? '')?.[1];
  if (first === undefined || KNOWN_ARGUMENTS.has(first.replace(/^--?/, ''))) return undefined;
  return [`kvm: ${first}: invalid option`];
}

const KNOWN_ARGUMENTS = new Set(
  (
    'accel append audiodev bios blockdev boot chardev cpu debugcon device dfilter display drive fsdev fw_cfg global ' +
    'initrd kernel m machine mem-path mem-prealloc mon monitor name netdev nic no-reboot no-shutdown nodefaults ' +
    'numa object overcommit qmp rtc sandbox serial set smbios smp snapshot spice tpmdev trace usb uuid vga virtfs vnc ' +
    'watchdog-action'
  ).split(' '),
);

/** Rule [recorded start-refused-by-qemu]: QEMU 10.0 knows machines of its own age down to 2.4. */
const OLDEST_MACHINE = { major: 2, minor: 4 };

function unsupportedMachine(config: Config, qemuVersion: string): string[] | undefined {
  const type = optionOf(config.get('machine'), 'type');
  const match = /^(pc-i440fx|pc-q35)-(\d+)\.(\d+)/.exec(type ?? '');
  if (!match || !qemuVersion.startsWith('10.')) return undefined;
  const [name, , major, minor] = match;
  const isOld =
    Number(major) < OLDEST_MACHINE.major ||
    (Number(major) === OLDEST_MACHINE.major && Number(minor) < OLDEST_MACHINE.minor);
  if (!isOld) return undefined;
  return [`kvm: unsupported machine type: "${name}"`, 'Use -machine help to list supported machines'];
}

/** Rule [recorded start-refused-by-qemu]: more virtual CPUs than the topology has places for. */
function impossibleTopology(config: Config): string[] | undefined {
  const [sockets, cores] = ['sockets', 'cores'].map((key) => Number(config.get(key) ?? 1));
  const maximum = (sockets ?? 1) * (cores ?? 1);
  const cpus = Number(config.get('vcpus') ?? maximum);
  if (cpus <= maximum) return undefined;
  return [
    'kvm: Invalid CPU topology: maxcpus must be equal to or greater than smp: ' +
      `sockets (${sockets}) * dies (1) * modules (1) * cores (${cores}) * threads (1) == maxcpus (${maximum}) < smp_cpus (${cpus})`,
  ];
}

/** Rule [recorded start-refused-by-qemu]. */
function hostCpuWithoutKvm(config: Config): string[] | undefined {
  if (config.get('kvm') !== '0' || optionOf(config.get('cpu'), 'cputype') !== 'host') return undefined;
  return ["kvm: CPU model 'host' requires KVM or HVF"];
}

/** Rule [recorded start-refused-by-qemu]: the kernel refuses a single piece of memory larger than all there is. */
function tooMuchMemory(config: Config, hostMemoryBytes: number): string[] | undefined {
  const bytes = memoryMiB(config.get('memory')) * 1024 ** 2;
  if (bytes <= hostMemoryBytes) return undefined;
  return ["kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory"];
}

/** The first property of a list, with or without its name. */
function optionOf(text: string | undefined, name: string): string | undefined {
  return splitProperty(text ?? '').find(({ key }) => key === undefined || key === name)?.value;
}
