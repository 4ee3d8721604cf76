/** Formats of the network keys: netN and ipconfigN. Mirrors qemu-server, src/PVE/QemuServer/Network.pm. */
import { defineFormat } from '../property-string.ts';

export const NIC_MODELS = [
  'e1000',
  'e1000-82540em',
  'e1000-82544gc',
  'e1000-82545em',
  'e1000e',
  'i82551',
  'i82557b',
  'i82559er',
  'ne2k_isa',
  'ne2k_pci',
  'pcnet',
  'rtl8139',
  'virtio',
  'vmxnet3',
] as const;

export const NET_FORMAT = defineFormat(
  'net',
  {
    model: { type: 'string', required: true, enum: NIC_MODELS },
    macaddr: { type: 'string', caseFold: true },
    bridge: { type: 'string' },
    firewall: { type: 'boolean', default: '0' },
    // No default: whether tunnels are offloaded when nothing is said depends on the machine version.
    'host-tunnel': { type: 'boolean' },
    link_down: { type: 'boolean', default: '0' },
    mtu: { type: 'integer' },
    queues: { type: 'integer' },
    rate: { type: 'number' },
    tag: { type: 'integer' },
    trunks: { type: 'list' },
  },
  { defaultKey: 'model', pair: { names: NIC_MODELS, nameKey: 'model', valueKey: 'macaddr' } },
);

/** The schema's default `dhcp` is left out: it is not what the server does once the other address family is set. */
export const IPCONFIG_FORMAT = defineFormat('ipconfig', {
  ip: { type: 'string', caseFold: true },
  gw: { type: 'string' },
  ip6: { type: 'string', caseFold: true },
  gw6: { type: 'string', caseFold: true },
});
