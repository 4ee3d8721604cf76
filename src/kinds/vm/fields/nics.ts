/** Network cards of a VM, by slot, with the addresses cloud-init gives them. */
import { z } from 'zod';
import { NIC_MODELS } from '../../../pve/wire/index.ts';
import { block, field, whole, word } from '../../fields/field.ts';
import { hotplug } from './effects.ts';

const SLOT = /^net([0-9]|[12][0-9]|3[01])$/;

const ipv4 = z
  .union([
    z.literal('dhcp'),
    block(() => ({
      address: field(
        z.string().regex(/^\d+\.\d+\.\d+\.\d+\/\d+$/, 'an address has its network length: 10.0.20.11/24'),
        {
          description: 'Address with prefix length.',
          wire: ['ipconfig', 'ip'],
          effect: 'live',
        },
      ),
      gateway: field(word().optional(), {
        description: 'Gateway inside that network.',
        wire: ['ipconfig', 'gw'],
        effect: 'live',
      }),
    })),
  ])
  .describe('IPv4 address that cloud-init gives the card.');

const ipv6 = z
  .union([
    z.enum(['dhcp', 'auto']),
    block(() => ({
      address: field(z.string().regex(/^[0-9a-fA-F:.]+\/\d+$/, 'an address has its network length: fd00::11/64'), {
        description: 'Address with prefix length.',
        wire: ['ipconfig', 'ip6'],
        effect: 'live',
      }),
      gateway: field(word().optional(), {
        description: 'Gateway inside that network.',
        wire: ['ipconfig', 'gw6'],
        effect: 'live',
      }),
    })),
  ])
  .describe('IPv6 address that cloud-init gives the card.');

export const nicFieldsSchema = block(() => ({
  model: field(z.enum(NIC_MODELS).optional(), {
    description: 'Card that the guest sees; virtio for a new one.',
    wire: ['net', 'model'],
    effect: hotplug('network'),
  }),
  mac: field(
    z
      .string()
      .regex(/^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$/, { error: ({ input }) => macProblem(String(input)) })
      .optional(),
    {
      description: 'MAC address; by default Proxmox generates one, and Proxwright keeps it.',
      wire: ['net', 'macaddr'],
      effect: hotplug('network'),
    },
  ),
  bridge: field(word().optional(), { description: 'Bridge or VNet.', wire: ['net', 'bridge'], effect: 'live' }),
  vlan: field(z.union([z.literal(false), whole(1, 4094)]).optional(), {
    description: 'VLAN tag; false for none.',
    wire: ['net', 'tag'],
    words: 'number-or-false',
    effect: 'live',
  }),
  trunks: field(z.array(whole(1, 4094)).optional(), {
    description: 'VLANs that the port passes through.',
    wire: ['net', 'trunks'],
    words: 'number-list',
    effect: 'live',
  }),
  firewall: field(z.boolean().optional(), {
    description: 'Use the Proxmox firewall on this card.',
    wire: ['net', 'firewall'],
    effect: 'live',
    serverDefault: 'false',
  }),
  rate: field(z.number().min(0).optional(), {
    description: 'Rate limit in MB/s; 0 for none.',
    wire: ['net', 'rate'],
    words: 'limit',
    effect: 'live',
  }),
  mtu: field(whole(1, 65_520).optional(), {
    description: 'MTU; 1 uses the MTU of the bridge.',
    wire: ['net', 'mtu'],
    effect: hotplug('network'),
  }),
  queues: field(whole(0, 64).optional(), {
    description: 'Queues of a virtio card.',
    wire: ['net', 'queues'],
    effect: hotplug('network'),
  }),
  link_down: field(z.boolean().optional(), {
    description: 'Disconnect the virtual cable.',
    wire: ['net', 'link_down'],
    effect: 'live',
    serverDefault: 'false',
  }),
  ipv4: ipv4.optional(),
  ipv6: ipv6.optional(),
  remove: field(z.literal(true).optional(), {
    description: 'Remove the card.',
    wire: ['net'],
    words: 'removal',
    effect: hotplug('network'),
  }),
}));

export const nicSlots = z
  .record(z.string().regex(SLOT, 'a network slot is net0–net31'), nicFieldsSchema)
  .describe('Network cards, by slot.');

export type NicFields = z.output<typeof nicFieldsSchema>;

function macProblem(text: string): string {
  const hasForm = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text);
  if (!hasForm) return 'a MAC address is six pairs of hexadecimal digits with colons between them: BC:24:11:00:00:01';
  const even = `${text.slice(0, 1)}${(Number.parseInt(text.slice(1, 2), 16) - 1).toString(16).toUpperCase()}`;
  return `this is a multicast address; make the second digit even, for example ${even}${text.slice(2)}`;
}
