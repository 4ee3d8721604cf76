/** Cloud-init settings, and references to secrets. */
import { z } from 'zod';
import { block, field, singleLine, volumeName, word } from '../../fields/field.ts';
import { hotplugDisk } from './effects.ts';

/** A reference to a secret, never the secret itself. */
export const secretReference = z.union(
  [
    block(() => ({
      env: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable has letters, digits and _')
        .describe('Environment variable that holds it.'),
    })),
    block(() => ({ file: z.string().min(1).describe('File that holds it.') })),
    block(() => ({ command: z.array(z.string()).min(1).describe('Program that prints it, with its arguments.') })),
  ],
  {
    error: 'do not write the secret here; say where it is kept: one of "env", "file" and "command"',
  },
);

/** A reference to a cloud-init file, or the file itself: it need not be a secret, but Proxwright treats it as one. */
export const documentReference = z.union(
  [
    ...secretReference.options,
    block(() => ({
      text: field(z.string().min(1), {
        description: 'The file itself, if it holds no secret.',
        effect: hotplugDisk,
        secret: true,
      }),
    })),
  ],
  {
    error: 'a cloud-init file is one of "file", "env", "command" or, if it holds no secret, "text"',
  },
);
export type DocumentReference = z.output<typeof documentReference>;

/** A file on a storage that replaces what Proxmox would write. */
function snippet(description: string, part: string) {
  return field(volumeName().optional(), {
    description,
    wire: ['cicustom', part],
    effect: 'live',
    examples: [`local:snippets/${part}.yaml`],
  });
}

export const cloudInitFields = block(() => ({
  storage: field(word().optional(), {
    description:
      'Storage for the cloud-init drive if the VM has none yet; a template’s drive stays where it is. Another storage, set later, moves the drive while the VM is off. With custom cloud-init files, a storage for ISO images.',
    effect: hotplugDisk,
  }),
  slot: field(
    z
      .string()
      .regex(/^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30))$/)
      .optional(),
    {
      description: 'Slot of a new cloud-init drive; ide2 by default.',
      effect: hotplugDisk,
    },
  ),
  user: field(singleLine().min(1).optional(), {
    description: 'User that cloud-init creates or configures.',
    wire: ['ciuser'],
    effect: 'live',
  }),
  password: field(secretReference.optional(), {
    description: 'Password of that user: a reference, never the value itself.',
    wire: ['cipassword'],
    effect: 'live',
    secret: true,
  }),
  ssh_keys: field(z.array(z.string().min(1)).optional(), {
    description: 'Public keys allowed to log in.',
    wire: ['sshkeys'],
    words: 'ssh-keys',
    effect: 'live',
  }),
  dns: block(() => ({
    servers: field(z.array(word()).optional(), {
      description: 'Name servers.',
      wire: ['nameserver'],
      words: 'blank-list',
      effect: 'live',
    }),
    domain: field(word().optional(), {
      description: 'Search domain.',
      wire: ['searchdomain'],
      effect: 'live',
    }),
  }))
    .describe('Name resolution of the guest.')
    .optional(),
  upgrade: field(z.boolean().optional(), {
    description: 'Upgrade packages at the first boot.',
    wire: ['ciupgrade'],
    effect: 'live',
    serverDefault: 'true',
  }),
  type: field(z.enum(['nocloud', 'configdrive2', 'opennebula']).optional(), {
    description: 'Format of the drive.',
    wire: ['citype'],
    effect: 'live',
  }),
  snippets: block(() => ({
    user: snippet('User-data, instead of user, password, ssh_keys and upgrade.', 'user'),
    network: snippet('Network configuration, instead of the addresses of the cards.', 'network'),
    meta: snippet('Meta-data.', 'meta'),
    vendor: snippet('Vendor-data, which user-data overrides.', 'vendor'),
  }))
    .describe(
      'Files that an administrator put on a storage for snippets: Proxmox’s API cannot upload them. Proxwright uploads those of user_data, network_data and meta_data itself.',
    )
    .optional(),
  user_data: field(documentReference.optional(), {
    description:
      'Custom user-data: cloud-config, a script, or a Talos machine configuration. The guest gets it on an ISO image that Proxwright uploads, instead of Proxmox’s drive; it takes precedence over the other fields.',
    effect: hotplugDisk,
    secret: true,
  }),
  network_data: field(documentReference.optional(), {
    description: 'Custom network configuration, instead of the one generated from the addresses of the cards.',
    effect: hotplugDisk,
    secret: true,
  }),
  meta_data: field(documentReference.optional(), {
    description:
      'Custom meta-data. It must hold local-hostname and an instance-id; without a new instance-id, cloud-init ignores changes.',
    effect: hotplugDisk,
    secret: true,
  }),
})).describe('Cloud-init settings.');
