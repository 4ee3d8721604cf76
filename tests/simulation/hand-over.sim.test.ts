/**
 * A Talos stack on one host, from nothing to what is handed over: a control plane, workers with and without a known address,
 * and a worker for each GPU of a list. Readiness waits for the Talos API and for no agent; each GPU gets its mapping; the
 * contract, the reservations and the script are true of what stands.
 */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { talosScript } from '../../src/engine/outputs/hand-over/talos.ts';
import { stackOutputs } from '../../src/engine/outputs/outputs.ts';
import { dnsmasqReservations } from '../../src/engine/outputs/render.ts';
import { emptyState } from '../../src/kinds/recorded.ts';
import { buildWorld, type World, type WorldFile } from '../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../src/simulator/world/default-world.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../src/spec/index.ts';
import { failuresOf } from './engine/support/invariants.ts';
import { Scene } from './engine/support/scene.ts';

const gpu = (id: string, iommu_group: number | undefined) => ({
  id,
  vendor: '0x10de',
  device: '0x2204',
  subsystem_vendor: '0x1458',
  subsystem_device: '0x403b',
  ...(iommu_group !== undefined && { iommu_group }),
});

function hostWith(drives: { readonly cloudInit: boolean }): (options: { readonly now: number }) => World {
  const file: WorldFile = {
    nodes: {
      vmhost: {
        address: '10.0.20.2',
        cpus: 32,
        memory: '256G',
        bridges: { vmbr0: { cidr: '10.0.20.2/24', vlan_aware: true } },
        filesystems: { root: { total: '94G', foreign: '6G' }, tank: { total: '8T' } },
        // The last one is behind a bridge that the IOMMU does not see.
        pci: [gpu('0000:01:00.0', 14), gpu('0000:02:00.0', 15), gpu('0000:03:00.0', undefined)],
      },
    },
    storages: {
      tank: {
        type: 'zfspool',
        content: ['images'],
        filesystem: 'tank',
        options: { pool: 'tank' },
        volumes: [{ name: 'base-9000-disk-0', size: '20G', used: '300M', data: '300M', guest: 'talos' }],
      },
    },
    vms: {
      9000: {
        config: {
          name: 'talos-v1.12.4-base',
          template: 1,
          cores: 2,
          memory: '2048',
          ostype: 'l26',
          machine: 'q35',
          scsihw: 'virtio-scsi-single',
          smbios1: 'uuid=5e0c4a77-7886-477f-ad9d-000000009000',
          boot: 'order=scsi0',
          net0: 'virtio=BC:24:11:00:90:00,bridge=vmbr0',
          scsi0: 'tank:base-9000-disk-0,size=20G',
          ...(drives.cloudInit && { ide2: 'tank:vm-9000-cloudinit,media=cdrom' }),
        },
      },
    },
    ...(DEFAULT_WORLD.users && { users: DEFAULT_WORLD.users }),
  };
  return ({ now }) => buildWorld(file, { now, file: 'talos host' });
}

const STACK = `
version: 1
stack: k3s-dev
variables:
  worker_count: { type: integer, min: 0, max: 50, default: 1 }
  gpu_devices: { type: list, of: pci-address, default: [] }
defaults:
  node: vmhost
  guest: talos
  clone: { template: talos-v1.12.4-base, mode: full, storage: tank }
  nics: { net0: { bridge: vmbr0, vlan: 20 } }
vms:
  control:
    count: 1
    name: \${stack}-control-\${number}
    vmids: 101-109
    role: control-plane
    cpu: { cores: 4 }
    memory: 8GiB
    disks: { scsi0: { size: 100GiB } }
    nics: { net0: { ipv4: { addresses: 10.0.20.11-10.0.20.19/24, gateway: 10.0.20.1 } } }
    boot: [scsi0, net0]
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-160
    role: worker
    memory: 16GiB
    after: [control]
    nics: { net0: { mac: "BC:24:11:20:01:11" } }
  gpu:
    each: \${var.gpu_devices}
    name: \${stack}-gpu-\${number}
    vmids: 161-169
    role: worker
    nics: { net0: { ipv4: { addresses: 10.0.20.61-10.0.20.69/24, gateway: 10.0.20.1 } } }
    pci: { hostpci0: { device: "\${each}", pcie: true } }
outputs: { talos: { vip: 10.0.20.10 } }
`;

function stackWith(...devices: string[]): ResolvedStack {
  const settings = [`gpu_devices=${JSON.stringify(devices)}`];
  const { stack, diagnostics } = resolveStack(loadStack(STACK, 'stack.yaml'), { settings });
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  return stack;
}

const GPUS = stackWith('0000:01:00', '0000:02:00');

describe('a Talos stack on a host with GPUs', () => {
  it('becomes ready by the Talos API alone, and has its outputs', async () => {
    const scene = new Scene({ world: hostWith({ cloudInit: true }) });
    expect(failuresOf(await scene.apply(GPUS))).toEqual([]);
    expect(scene.requests.filter(({ target }) => target.includes('/agent'))).toEqual([]);
    const [asked] = scene.events.filter((event) => JSON.stringify(event).includes('port 50000'));
    expect(asked).toBeDefined();
    expect(await scene.plan(GPUS)).toMatchObject({ kind: 'ended', plan: { steps: [] } });

    const outputs = stackOutputs(GPUS, await scene.state('k3s-dev'));
    expect(outputs.values).toMatchObject({
      talos_control_plane_endpoints: ['10.0.20.11'],
      talos_cluster_endpoint: 'https://10.0.20.10:6443',
      talos_node_ips: {
        'k3s-dev-control-1': '10.0.20.11',
        'k3s-dev-worker-1': null,
        'k3s-dev-gpu-1': '10.0.20.61',
        'k3s-dev-gpu-2': '10.0.20.62',
      },
      talos_vm_ids: { 'k3s-dev-control-1': 101, 'k3s-dev-worker-1': 111, 'k3s-dev-gpu-1': 161, 'k3s-dev-gpu-2': 162 },
    });
    expect(outputs.warnings.map(({ code, where }) => [code, where?.address])).toEqual([['NO_ADDRESS', 'vm.worker[1]']]);
    for (const { vmid, nics } of outputs.vms) {
      const net0 = scene.world.vms.get(vmid ?? 0)?.config.current.get('net0');
      expect(net0).toContain(`virtio=${nics[0]?.mac}`);
    }
    expect(talosScript(outputs)).toContain(`ADDRESS_161=\${ADDRESS_161:-'10.0.20.61'}\n`);
  });

  it('gives each GPU worker its own device, through a mapping made for it', async () => {
    const scene = new Scene({ world: hostWith({ cloudInit: true }) });
    await scene.apply(GPUS);
    const deviceOf = (vmid: number) => scene.world.vms.get(vmid)?.config.current.get('hostpci0');
    expect([deviceOf(161), deviceOf(162)]).toEqual([
      'mapping=proxwright-0000-01-00-10de-2204,pcie=1',
      'mapping=proxwright-0000-02-00-10de-2204,pcie=1',
    ]);
    expect([...scene.world.mappings.pci.keys()]).toHaveLength(2);
  });

  it.each([
    ['that the IOMMU does not see', ['0000:03:00'], /0000:03:00 of vmhost is in no IOMMU group/],
    ['that is not there', ['0000:09:00'], /vmhost has no PCI device 0000:09:00/],
    ['twice under two spellings', ['0000:01:00', '0000:01:00.0'], /0000:01:00.*given to vm\.gpu\["0000:01:00"\]/],
  ])('refuses a GPU %s, before anything is made', async (_, devices, words) => {
    const scene = new Scene({ world: hostWith({ cloudInit: true }) });
    const end = await scene.apply(stackWith(...devices));
    if (end.kind !== 'refused') throw new Error(`not refused: ${end.kind}`);
    expect(end.problems.map(({ detail }) => detail).join('\n')).toMatch(words);
    expect(scene.writes()).toEqual([]);
  });

  it('lists reservations before anything exists, as far as the file fixes them', () => {
    const outputs = stackOutputs(GPUS, emptyState('k3s-dev'));
    expect(dnsmasqReservations(outputs)).toContain('dhcp-host=bc:24:11:20:01:11,k3s-dev-worker-1\n');
  });
});

describe('a Talos template without a cloud-init drive', () => {
  it('takes the addresses of the file as the expected ones, and lists reservations that make them so', async () => {
    const scene = new Scene({ world: hostWith({ cloudInit: false }) });
    const stack = stackWith();
    const end = await scene.apply(stack);
    // The guest has not been given its address yet, so nothing answers there: the VM is kept and reported as not ready.
    expect(failuresOf(end).join('\n')).toContain('Nothing answers on 10.0.20.11 port 50000');
    const outputs = stackOutputs(stack, await scene.state('k3s-dev'));
    const mac = scene.world.vms
      .get(101)
      ?.config.current.get('net0')
      ?.match(/virtio=([^,]+)/)?.[1];
    expect(dnsmasqReservations(outputs)).toContain(`dhcp-host=${mac?.toLowerCase()},10.0.20.11,k3s-dev-control-1\n`);
  });
});
