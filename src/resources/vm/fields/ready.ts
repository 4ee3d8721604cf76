/** What "ready" means for a VM. */
import { z } from 'zod';
import { duration, field } from '../../field.ts';

export const readyFields = z
  .strictObject({
    agent: field(z.boolean().optional(), { description: 'Wait until the guest agent answers.', effect: 'none' }),
    pings: field(z.number().int().min(1).max(20).optional(), {
      description: 'Answers in a row that count as up.',
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
    settle: field(duration().optional(), { description: 'How long all of it must hold.', effect: 'none' }),
    timeout: field(duration().optional(), {
      description: 'Bound of the wait; rollout.timeouts.ready by default.',
      effect: 'none',
    }),
    tcp: field(z.array(z.number().int().min(1).max(65_535)).optional(), {
      description: 'Ports that must answer from here.',
      effect: 'none',
    }),
    agent_service: field(z.boolean().optional(), {
      description:
        'Wait until the guest says that its service qemu-guest-agent is active; needs VM.GuestAgent.Unrestricted (VM.Monitor on Proxmox VE 8).',
      effect: 'none',
    }),
    exec: field(z.array(z.array(z.string()).min(1)).optional(), {
      description:
        'Commands in the guest that must end with 0; needs VM.GuestAgent.Unrestricted (VM.Monitor on Proxmox VE 8).',
      effect: 'none',
    }),
    cloud_init: field(z.boolean().optional(), {
      description: 'Wait until cloud-init has finished; needs VM.GuestAgent.FileRead (VM.Monitor on Proxmox VE 8).',
      effect: 'none',
    }),
  })
  .describe('When the VM counts as ready.');
