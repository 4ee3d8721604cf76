/** The field table of an image: a file in a storage, fetched by Proxmox itself or sent by us. */
import { z } from 'zod';
import { field, word } from '../fields/field.ts';

const digest = (digits: number, name: string) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `a ${name} sum is ${digits} hexadecimal digits`)
    .optional();

export const imageFieldsSchema = z.strictObject({
  url: field(z.url({ protocol: /^https?$/ }).optional(), {
    description: 'Where the image is fetched from.',
    effect: 'creation',
    examples: ['https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img'],
  }),
  path: field(z.string().min(1).optional(), {
    description: 'Local file that is sent to Proxmox, instead of a url.',
    effect: 'creation',
  }),
  via: field(z.enum(['proxmox', 'upload']).optional(), {
    description:
      'Who fetches the url: proxmox by itself (the default), or Proxwright, which then sends the file; for servers without a way out.',
    effect: 'creation',
  }),
  file: field(
    z
      .string()
      .regex(
        /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/,
        'a file name in a storage has letters, digits, and _ . - behind the first',
      )
      .optional(),
    { description: 'Name of the file in the storage; that of the url or path by default.', effect: 'creation' },
  ),
  content: field(z.enum(['import', 'iso']), {
    description: 'Kind of content: import for disk images, iso for CD images.',
    effect: 'creation',
  }),
  storage: field(word(), { description: 'Storage that keeps it.', effect: 'creation' }),
  nodes: field(z.array(z.string().min(1)).min(1).optional(), {
    description:
      'Nodes that get it where the storage is local, beside those whose templates and VMs use it; one of them on shared storage.',
    effect: 'creation',
  }),
  sha256: field(digest(64, 'SHA-256'), {
    description: 'Checksum of the file as it is fetched.',
    effect: 'creation',
  }),
  sha512: field(digest(128, 'SHA-512'), {
    description: 'Checksum of the file as it is fetched.',
    effect: 'creation',
  }),
  compression: field(z.enum(['gz', 'xz', 'zst', 'bz2', 'lzo', 'none']).optional(), {
    description: 'How the file is packed; by the ending of its name where not given.',
    effect: 'creation',
  }),
});

export type ImageFields = z.output<typeof imageFieldsSchema>;
