/**
 * The connection between the cards of a VM and the bridges of its host: MTU, VLANs, and the script that plugs them in.
 */
import { dieFault } from '../http/response.ts';
import { parseNic } from '../vm/machine.ts';
import type { SimNode } from '../world/world.ts';

type Config = ReadonlyMap<string, string>;
type Nic = NonNullable<ReturnType<typeof parseNic>>;

/** Rule [assumed]: bridges of simulated hosts have the usual MTU. */
const BRIDGE_MTU = 1500;
const SMALLEST_MTU = 576;

/** Rule [recorded start-missing-volumes]: a missing bridge and an impossible MTU are noticed at start, not before. */
export function assertBridges(node: SimNode, config: Config, warn: (line: string) => void): void {
  for (const [key, nic] of nicsOf(config)) {
    const bridge = nic.get('bridge');
    if (bridge === undefined) continue;
    if (!node.bridges.get(bridge)?.active) throw dieFault(`bridge '${bridge}' does not exist`);
    assertMtu(key, nic, warn);
  }
}

export function assertMtu(key: string, nic: Nic, warn: (line: string) => void): void {
  const mtu = nic.get('mtu');
  if (mtu === undefined) return;
  if (nic.get('model') !== 'virtio') {
    warn(`netdev ${key}: ignoring MTU '${mtu}', not using VirtIO`);
    return;
  }
  if (Number(mtu) > BRIDGE_MTU) {
    throw dieFault(
      `netdev ${key}: MTU '${mtu}' is bigger than the bridge MTU '${BRIDGE_MTU}' - adjust the MTU for the network device in the VM configuration, while ensuring that the bridge is configured as desired.`,
    );
  }
  if (Number(mtu) > 1 && Number(mtu) < SMALLEST_MTU) {
    throw dieFault(`netdev ${key}: MTU '${mtu}' is smaller than the IP minimum MTU '${SMALLEST_MTU}'`);
  }
}

/**
 * Rule [recorded run-net-changes]: what a kernel without traffic shaping says of a rate: the error of the command, and what the
 * command itself prints before it; the warning depends on the rate.
 */
export function rateFailure(node: SimNode, device: string, rate: string | undefined): string[] | undefined {
  if (node.trafficShaping || !rate) return undefined;
  const bytes = Math.floor(Number(rate) * 1024 * 1024);
  const filter = `filter add dev ${device} parent ffff: prio 50 basic police rate ${bytes}bps burst 1048576b mtu 64kb drop`;
  return [
    ...(bytes / RATE_TO_QUANTUM > LARGEST_QUANTUM
      ? ['Warning: sch_htb: quantum of class 10001 is big. Consider r2q change.']
      : []),
    'Error: TC classifier not found.',
    'We have an error talking to the kernel',
    `command '/sbin/tc ${filter}' failed: exit code 2`,
  ];
}

const RATE_TO_QUANTUM = 10;
const LARGEST_QUANTUM = 200_000;

/** Why the script that puts a card into its bridge would fail: what it prints, and the exit status QEMU sees. */
export interface ScriptFailure {
  readonly lines: readonly string[];
  readonly status: number;
}

/** Rule [recorded start-missing-volumes]: VLANs need a bridge that is aware of them, a single one at least a real card. */
export function scriptFailure(node: SimNode | undefined, device: string, nic: Nic): ScriptFailure | undefined {
  const bridge = node?.bridges.get(nic.get('bridge') ?? '');
  if (!node || !bridge) return undefined;
  if (nic.get('tag') && !bridge.vlanAware && !bridge.physical) {
    return { lines: [`no physical interface on bridge '${bridge.name}'`], status: 65_280 };
  }
  if (nic.get('trunks') && !bridge.vlanAware) {
    const message = 'vlan aware feature need to be enabled to use trunks at /usr/share/perl5/PVE/Network.pm line 541.';
    return { lines: [message], status: 512 };
  }
  const lines = rateFailure(node, device, nic.get('rate'));
  return lines && { lines, status: 512 };
}

/** The host side of a card. */
export function tapDevice(vmid: number, key: string): string {
  return `tap${vmid}i${key.slice('net'.length)}`;
}

/** The lines QEMU and the script leave in the log of a start that fails for that. */
export function failedScript(node: SimNode, vmid: number, config: Config): string[] | undefined {
  for (const [key, nic] of nicsOf(config)) {
    const device = tapDevice(vmid, key);
    const failure = scriptFailure(node, device, nic);
    if (!failure) continue;
    const folder = '/usr/libexec/qemu-server';
    const isVirtio = nic.get('model') === 'virtio';
    const options = [
      `type=tap,id=${key},ifname=${device}`,
      `script=${folder}/pve-bridge,downscript=${folder}/pve-bridgedown`,
      ...(isVirtio && node.kvm ? ['vhost=on'] : []),
      ...(isVirtio && nic.get('queues') ? [`queues=${nic.get('queues')}`] : []),
    ];
    const complaint = `network script ${folder}/pve-bridge failed with status ${failure.status}`;
    return [...failure.lines, `kvm: -netdev ${options.join(',')}: ${complaint}`];
  }
  return undefined;
}

function nicsOf(config: Config): [string, Nic][] {
  return Array.from({ length: 32 }, (_, index) => `net${index}`).flatMap((key): [string, Nic][] => {
    const nic = parseNic(config.get(key) ?? '');
    return nic ? [[key, nic]] : [];
  });
}
