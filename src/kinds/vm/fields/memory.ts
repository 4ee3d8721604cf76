/** Where the memory of a VM is, how it is laid out and protected, and directories of the host shared through it. */
import { z } from 'zod';
import { block, byteSize, field, whole, word } from '../../fields/field.ts';

const ONE_MIB = 1024 ** 2;

const switched = () => z.boolean().optional();

/** `0-3`, `8`. */
const numbers = z
  .array(z.string().regex(/^\d+(-\d+)?$/, 'a number, or a range such as "0-3"'))
  .min(1)
  .refine((all) => all.every(isRange), 'a range goes from the lower number to the higher one');

function isRange(text: string): boolean {
  const [first = 0, last = first] = text.split('-').map(Number);
  return first <= last;
}

const numaNodeFields = block(() => ({
  cpus: field(numbers, {
    description: 'Virtual CPUs of the node, counted from 0.',
    wire: ['numa[n]', 'cpus'],
    words: 'list',
    effect: 'restart',
    unordered: true,
    examples: ['[0-3]'],
  }),
  memory: field(byteSize().pipe(z.number().positive().multipleOf(ONE_MIB)), {
    description: 'Memory of the node. All nodes together have exactly the memory of the VM.',
    wire: ['numa[n]', 'memory'],
    words: 'mebibytes',
    effect: 'restart',
  }),
  host_nodes: field(numbers.optional(), {
    description: 'NUMA nodes of the host that the memory comes from; needs policy.',
    wire: ['numa[n]', 'hostnodes'],
    words: 'list',
    effect: 'restart',
    unordered: true,
  }),
  policy: field(z.enum(['preferred', 'bind', 'interleave']).optional(), {
    description: 'How the memory is taken from host_nodes.',
    wire: ['numa[n]', 'policy'],
    effect: 'restart',
  }),
}));

const hugepages = block(() => ({
  size: field(z.enum(['any', '2MiB', '1GiB']).optional(), {
    description: 'Size of the pages; any uses the largest that fits. Needs cpu.numa.',
    wire: ['hugepages'],
    words: 'page-size',
    effect: 'restart',
    rootOnly: true,
  }),
  keep: field(switched(), {
    description: 'Keep the pages when the VM stops, for its next start.',
    wire: ['keephugepages'],
    effect: 'restart',
    rootOnly: true,
    serverDefault: 'false',
  }),
})).describe('Huge pages of the host as memory.');

const amdSev = block(() => ({
  type: field(z.enum(['std', 'es', 'snp']), {
    description: 'Encrypted memory (std), also registers (es), also integrity (snp).',
    wire: ['amd-sev', 'type'],
    effect: 'restart',
    since: '8.3',
    rootOnly: true,
  }),
  no_debug: field(switched(), {
    description: 'Forbid debugging of the guest.',
    wire: ['amd-sev', 'no-debug'],
    effect: 'restart',
    since: '8.3',
    rootOnly: true,
    serverDefault: 'false',
  }),
  no_key_sharing: field(switched(), {
    description: 'Forbid sharing the key with other guests.',
    wire: ['amd-sev', 'no-key-sharing'],
    effect: 'restart',
    since: '8.3',
    rootOnly: true,
    serverDefault: 'false',
  }),
  kernel_hashes: field(switched(), {
    description: 'Measure kernel, initrd and command line at the start.',
    wire: ['amd-sev', 'kernel-hashes'],
    effect: 'restart',
    since: '8.3',
    rootOnly: true,
    serverDefault: 'false',
  }),
  allow_smt: field(switched(), {
    description: 'With snp: allow simultaneous multithreading on the host.',
    wire: ['amd-sev', 'allow-smt'],
    effect: 'restart',
    since: '8.3',
    rootOnly: true,
    serverDefault: 'true',
  }),
})).describe('Memory encryption by an AMD host.');

const intelTdx = block(() => ({
  type: field(z.enum(['tdx']), {
    description: 'Kind of trust domain.',
    wire: ['intel-tdx', 'type'],
    effect: 'restart',
    since: '9.1',
    rootOnly: true,
  }),
  attestation: field(switched(), {
    description: 'Let the guest prove that it is protected, through the quote generation service of the host.',
    wire: ['intel-tdx', 'attestation'],
    effect: 'restart',
    since: '9.1',
    rootOnly: true,
    serverDefault: 'true',
  }),
  vsock_cid: field(whole(2).optional(), {
    description: 'Context id of that service.',
    wire: ['intel-tdx', 'vsock-cid'],
    effect: 'restart',
    since: '9.1',
    rootOnly: true,
    serverDefault: '2',
  }),
  vsock_port: field(whole(0).optional(), {
    description: 'Port of that service.',
    wire: ['intel-tdx', 'vsock-port'],
    effect: 'restart',
    since: '9.1',
    rootOnly: true,
    serverDefault: '4050',
  }),
})).describe('Memory encryption by an Intel host.');

const sharedDirectoryFields = block(() => ({
  mapping: field(word(), {
    description: 'Name of a directory mapping; the guest mounts the directory by this name.',
    wire: ['virtiofs', 'dirid'],
    effect: 'restart',
    since: '8.4',
  }),
  cache: field(z.enum(['auto', 'always', 'metadata', 'never']).optional(), {
    description: 'What the guest caches.',
    wire: ['virtiofs', 'cache'],
    effect: 'restart',
    since: '8.4',
    serverDefault: 'auto',
  }),
  direct_io: field(switched(), {
    description: 'Honour direct I/O of programs in the guest.',
    wire: ['virtiofs', 'direct-io'],
    effect: 'restart',
    since: '8.4',
    serverDefault: 'false',
  }),
  expose_xattr: field(switched(), {
    description: 'Show extended attributes to the guest.',
    wire: ['virtiofs', 'expose-xattr'],
    effect: 'restart',
    since: '8.4',
    serverDefault: 'false',
  }),
  expose_acl: field(switched(), {
    description: 'Show access control lists, and with them extended attributes; not for Windows guests.',
    wire: ['virtiofs', 'expose-acl'],
    effect: 'restart',
    since: '8.4',
    serverDefault: 'false',
  }),
}));

export const memoryFields = {
  allow_ksm: field(switched(), {
    description: 'Let the host merge equal pages of memory.',
    wire: ['allow-ksm'],
    effect: 'restart',
    since: '9.1',
    serverDefault: 'true',
  }),
  numa_nodes: z
    .record(z.string().regex(/^numa[0-7]$/, 'a NUMA node is numa0–7'), numaNodeFields)
    .describe('NUMA nodes that the guest sees, instead of one for each socket; needs cpu.numa.')
    .optional(),
  hugepages: hugepages.optional(),
  amd_sev: amdSev.optional(),
  intel_tdx: intelTdx.optional(),
  virtiofs: z
    .record(z.string().regex(/^virtiofs[0-9]$/, 'a shared directory is virtiofs0–9'), sharedDirectoryFields)
    .describe('Directories of the host shared with the guest, by slot.')
    .optional(),
};
