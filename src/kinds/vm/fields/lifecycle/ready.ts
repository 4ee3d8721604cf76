/** When a VM is ready. */
import { z } from 'zod';
import { block, duration, field } from '../../../fields/field.ts';

export const readyFields = block(() => ({
  agent: field(z.boolean().optional(), { description: 'Wait until the guest agent answers.', effect: 'none' }),
  pings: field(z.number().int().min(1).max(20).optional(), {
    description: 'Consecutive answers that count as up.',
    effect: 'none',
  }),
  address: field(z.boolean().optional(), {
    description: 'Wait until an address is known on the managed NIC.',
    effect: 'none',
  }),
  os_info: field(z.boolean().optional(), {
    description: 'Wait until the agent describes the operating system.',
    effect: 'none',
  }),
  settle: field(duration().optional(), { description: 'How long all conditions must hold.', effect: 'none' }),
  timeout: field(duration().optional(), {
    description: 'Timeout; rollout.timeouts.ready by default.',
    effect: 'none',
  }),
  tcp: field(z.array(z.number().int().min(1).max(65_535)).optional(), {
    description: 'TCP ports that must accept a connection from this machine.',
    effect: 'none',
  }),
  agent_service: field(z.boolean().optional(), {
    description:
      'Wait until the service qemu-guest-agent is active in the guest; needs VM.GuestAgent.Unrestricted (VM.Monitor on Proxmox VE 8).',
    effect: 'none',
  }),
  exec: field(z.array(z.array(z.string()).min(1)).optional(), {
    description:
      'Commands in the guest that must exit with 0; needs VM.GuestAgent.Unrestricted (VM.Monitor on Proxmox VE 8).',
    effect: 'none',
  }),
  cloud_init: field(z.boolean().optional(), {
    description: 'Wait until cloud-init has finished; needs VM.GuestAgent.FileRead (VM.Monitor on Proxmox VE 8).',
    effect: 'none',
  }),
})).describe('When the VM counts as ready.');
