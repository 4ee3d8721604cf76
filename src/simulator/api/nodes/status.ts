/** /nodes: the list of nodes, and the status and hardware of one. */
import { splitList } from '../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { rootSpace, usedMemoryBytes } from '../../core/statistics.ts';
import { dieFault } from '../../http/response.ts';
import { builtInModels } from '../../schema/formats/cpu.ts';
import type { PciDevice } from '../../world/world.ts';
import { ResourceView } from '../cluster/resources.ts';

export const nodeRoutes: Routes = {
  'GET /nodes/{node}/status': readStatus,
  'GET /nodes': listNodes,
  'GET /nodes/{node}/hardware/pci': listPciDevices,
  'GET /nodes/{node}/hardware/usb': () => [],
  // Rule [source QS API2/Qemu/CPU.pm index]: the queried node answers, for its own architecture; no user has custom
  // models here, which only Sys.Audit on /nodes would show.
  'GET /nodes/{node}/capabilities/qemu/cpu': (call) => builtInModels(call.params.arch ?? 'x86_64'),
};

const KERNEL = {
  sysname: 'Linux',
  release: '6.17.4-1-pve',
  version: '#1 SMP PREEMPT_DYNAMIC PMX 6.17.4-1',
  machine: 'x86_64',
};

/** Rule [recorded perm-readonly-checks]: the fields; their values depend on the host. */
function readStatus(call: Call): Record<string, unknown> {
  const { runtime } = call;
  const { world, clock } = runtime;
  const node = world.nodes.get(call.node);
  if (!node) throw dieFault(`no such cluster node '${call.node}'`);
  const root = rootSpace(world, node);
  const usedMemory = usedMemoryBytes(runtime, node);
  return {
    uptime: Math.floor((clock.now() - node.bootedAt) / 1000),
    cpu: 0.02,
    wait: 0,
    idle: 0,
    loadavg: ['0.05', '0.08', '0.06'],
    pveversion: `pve-manager/${world.version.version}/${world.version.repoid}`,
    kversion: `${KERNEL.sysname} ${KERNEL.release} ${KERNEL.version}`,
    'current-kernel': KERNEL,
    'boot-info': { mode: 'legacy-bios' },
    cpuinfo: {
      cpus: node.cpus,
      cores: node.cpus,
      sockets: 1,
      model: 'AMD EPYC',
      vendor: 'AuthenticAMD',
      family: '25',
      mhz: '2596.130',
      user_hz: 100,
      hvm: node.kvm ? '1' : '',
      flags: node.kvm ? 'fpu vme de pse tsc msr pae sse sse2 svm' : 'fpu vme de pse tsc msr pae sse sse2',
    },
    memory: {
      total: node.memoryBytes,
      used: usedMemory,
      free: node.memoryBytes - usedMemory,
      available: node.memoryBytes - usedMemory,
    },
    swap: { total: 0, used: 0, free: 0 },
    rootfs: {
      total: root.totalBytes,
      used: root.usedBytes,
      free: root.totalBytes - root.usedBytes,
      avail: root.availableBytes,
    },
    ksm: { shared: 0 },
  };
}

/** Rule [recorded perm-token-sees-nothing]: every user sees the nodes; numbers need Sys.Audit. */
function listNodes(call: Call): unknown[] {
  const view = new ResourceView(call.runtime);
  return [...call.runtime.world.nodes.values()].map((node) => ({
    ...view.node(node, call.may(`/nodes/${node.name}`, ['Sys.Audit'])),
    ssl_fingerprint: node.sslFingerprint,
  }));
}

/** Rule [source PM API2/Hardware/PCI.pm pciscan]: memory, bridge and processor classes are hidden unless requested. */
const HIDDEN_CLASSES = ['05', '06', '0b'];

function listPciDevices(call: CallTo<'GET /nodes/{node}/hardware/pci'>): unknown[] {
  const blacklist = call.params['pci-class-blacklist'];
  const hidden = blacklist === undefined ? HIDDEN_CLASSES : splitList(blacklist);
  const isVerbose = call.params.verbose ?? true;
  return (call.runtime.world.nodes.get(call.node)?.pciDevices ?? [])
    .filter((device) => !hidden.some((prefix) => device.class.startsWith(`0x${prefix}`)))
    .map((device) => (isVerbose ? deviceView(device) : { id: device.id }));
}

function deviceView(device: PciDevice): Record<string, unknown> {
  return {
    id: device.id,
    class: device.class,
    vendor: device.vendor,
    device: device.device,
    vendor_name: device.vendorName,
    device_name: device.deviceName,
    subsystem_vendor: device.subsystemVendor,
    subsystem_vendor_name: device.vendorName,
    subsystem_device: device.subsystemDevice,
    iommugroup: device.iommuGroup,
  };
}
