/** The field table of an image: a file in a storage that Proxmox downloads or Proxwright uploads. */
import { z } from 'zod';
import { block, field, word } from '../fields/field.ts';

const digest = (digits: number, name: string) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`), `a ${name} sum is ${digits} hexadecimal digits`)
    .optional();

export const imageFieldsSchema = block(() => ({
  url: field(z.url({ protocol: /^https?$/ }).optional(), {
    description: 'URL to download the image from.',
    effect: 'creation',
    examples: ['https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img'],
  }),
  path: field(z.string().min(1).optional(), {
    description: 'Local file to upload to Proxmox, instead of a url.',
    effect: 'creation',
  }),
  via: field(z.enum(['proxmox', 'upload']).optional(), {
    description:
      'Which side downloads the url: Proxmox (the default), or Proxwright, which then uploads the file; for servers without internet access.',
    effect: 'creation',
  }),
  file: field(
    z
      .string()
      .regex(
        /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/,
        'a file name in a storage has letters, digits, and after the first character also _ . and -',
      )
      .optional(),
    { description: 'Name of the file in the storage; by default that of the url or path.', effect: 'creation' },
  ),
  content: field(z.enum(['import', 'iso']), {
    description: 'Kind of content: import for disk images, iso for CD images.',
    effect: 'creation',
  }),
  storage: field(word(), { description: 'Storage for the file.', effect: 'creation' }),
  nodes: field(z.array(z.string().min(1)).min(1).optional(), {
    description:
      'Nodes that get the file if the storage is local, besides those whose templates and VMs use it. On shared storage, one of them transfers it.',
    effect: 'creation',
  }),
  sha256: field(digest(64, 'SHA-256'), {
    description: 'Checksum of the downloaded file, before it is unpacked.',
    effect: 'creation',
  }),
  sha512: field(digest(128, 'SHA-512'), {
    description: 'Checksum of the downloaded file, before it is unpacked.',
    effect: 'creation',
  }),
  compression: field(z.enum(['gz', 'xz', 'zst', 'bz2', 'lzo', 'none']).optional(), {
    description: 'How the file is packed; by default from the extension of its name.',
    effect: 'creation',
  }),
}));

export type ImageFields = z.output<typeof imageFieldsSchema>;
