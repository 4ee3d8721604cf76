/** GET /nodes/{node}/status: the host itself. */
import type { Call, Routes } from '../../core/call.ts';
import { rootSpace, usedMemoryBytes } from '../../core/statistics.ts';
import { dieFault } from '../../http/response.ts';

export const nodeStatusRoutes: Routes = { 'GET /nodes/{node}/status': readStatus };

const KERNEL = {
  sysname: 'Linux',
  release: '6.17.4-1-pve',
  version: '#1 SMP PREEMPT_DYNAMIC PMX 6.17.4-1',
  machine: 'x86_64',
};

/** Rule [recorded perm-readonly-checks]: the fields; what stands in them depends on the host. */
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
