/**
 * The shape of a stack file, section by section. VM fields come from the field table of the VM; here is what surrounds
 * them. The sections are checked one by one while a stack is resolved; the whole is what editors get.
 */
import { z } from 'zod';
import { parseIp } from '../base/ip-address.ts';
import { duration, type FieldFacts, field } from '../resources/field.ts';
import { imageFieldsSchema } from '../resources/image/fields.ts';
import { secretReference } from '../resources/vm/cloud-init-fields.ts';
import { vmFieldsSchema } from '../resources/vm/fields.ts';
import { ELEMENT_TYPES, VARIABLE_TYPES } from './variable-types.ts';

/** A line that changes nothing on the server. */
const ours = <Schema extends z.ZodType>(schema: Schema, description: string, more: Partial<FieldFacts> = {}): Schema =>
  field(schema, { description, effect: 'none', ...more });

/** It names directories and is part of the notes of every VM. */
export const stackNameSchema = ours(
  z
    .string()
    .max(63)
    .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a stack name has letters, digits, - and _, and begins with a letter'),
  'Name of the stack.',
);

export const connectionSchema = z.strictObject({
  endpoint: ours(
    z
      .string()
      .regex(
        /^(https:\/\/)?[^\s/@:]+(:\d+)?(\/(api2(\/(json|extjs))?)?\/?)?$|^(https:\/\/)?\[[0-9a-fA-F:]+\](:\d+)?\/?$/,
        'an endpoint looks like https://pve1.example.org:8006',
      )
      .optional(),
    'Address of the API; PROXMOX_VE_ENDPOINT by default.',
    // Not for what it should hold, but for what people paste: user:password@host.
    { secret: true },
  ),
  fingerprint: ours(
    z
      .string()
      .regex(
        /^([Ss][Hh][Aa]-?256[:= ]\s*)?([0-9a-fA-F]{2}[:\s]?){31}[0-9a-fA-F]{2}$/,
        'a SHA-256 fingerprint is 32 pairs of hexadecimal digits',
      )
      .optional(),
    'SHA-256 fingerprint of the server’s certificate.',
  ),
  ca: ours(z.string().min(1).optional(), 'File with the certificate of the authority, in PEM.'),
  token: ours(secretReference.optional(), 'Where the API token is found; PROXMOX_VE_API_TOKEN by default.', {
    secret: true,
  }),
});

export const variableSchema = z.strictObject({
  type: ours(z.enum(VARIABLE_TYPES), 'Type of the value.'),
  of: ours(z.enum(ELEMENT_TYPES).optional(), 'Type of the elements of a list or map.'),
  min: ours(z.union([z.number(), z.string()]).optional(), 'Smallest value, or fewest elements.'),
  max: ours(z.union([z.number(), z.string()]).optional(), 'Largest value, or most elements.'),
  pattern: ours(z.string().min(1).optional(), 'Regular expression that text must match.'),
  default: ours(z.unknown().optional(), 'Value where none is given; without it one must be given.'),
  description: ours(z.string().optional(), 'What the variable is for.'),
  sensitive: ours(z.boolean().optional(), 'Keep the value out of all messages.'),
});
export type VariableDeclaration = z.output<typeof variableSchema>;

const atLeastOne = z.number().int().min(1);

export const rolloutSchema = z.strictObject({
  stagger: ours(duration().prefault('0s'), 'At least this long between two creations.'),
  readiness: ours(z.enum(['sequential', 'parallel']).default('sequential'), 'Whether VMs are waited for one by one.'),
  on_failure: ours(z.enum(['continue', 'stop']).default('continue'), 'What the other VMs do when one fails.'),
  retry: z
    .strictObject({
      attempts: ours(atLeastOne.max(100).default(5), 'Attempts while something is locked.'),
      first: ours(duration().prefault('2s'), 'First pause; it doubles.'),
      max: ours(duration().prefault('30s'), 'Longest pause.'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      vms: ours(atLeastOne.default(10), 'VMs worked on at once.'),
      clones_per_node: ours(atLeastOne.default(2), 'Clones at once on one node.'),
      clones_per_storage: ours(atLeastOne.default(2), 'Clones at once on one storage.'),
      destroys: ours(atLeastOne.default(2), 'VMs destroyed at once.'),
      requests: ours(atLeastOne.max(100).default(6), 'Requests to the API at once.'),
      agent_calls: ours(atLeastOne.default(2), 'Questions to guest agents at once.'),
      group_size: ours(z.number().int().min(1).max(10_000).default(50), 'Most VMs that one group may have.'),
    })
    .prefault({}),
  timeouts: z
    .strictObject({
      clone: ours(duration().prefault('30m'), 'Bound of a clone.'),
      start: ours(duration().prefault('5m'), 'Bound of a start.'),
      ready: ours(duration().prefault('30m'), 'Bound of the wait until a VM is ready.'),
      shutdown: ours(duration().prefault('3m'), 'Bound of a shutdown.'),
      lock: ours(duration().prefault('5m'), 'Bound of all waiting for locks of one step.'),
      image: ours(duration().prefault('1h'), 'Bound of fetching or sending an image.'),
    })
    .prefault({}),
});

export const outputsSchema = z.strictObject({
  talos: z
    .strictObject({
      vip: ours(
        z
          .string()
          .refine((text) => parseIp(text) !== undefined, 'it is not an IP address')
          .optional(),
        'Shared address of the control plane.',
      ),
    })
    .optional(),
  files: ours(z.string().min(1).optional(), 'Directory for output files.'),
});

const imageName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'the name of an image has letters, digits, and _ . - behind the first character',
    );
export const imageNameSchema = imageName();

/** Instead of `import_from` or `iso`, in a disk: the image's storage and file are put in its place. */
export const diskImageSchema = ours(
  imageName(),
  'Image of the stack, in place of import_from or iso: the disk is made from it, or the drive holds it.',
  { effect: 'creation' },
);

/** Fields of a VM that a template cannot have, and what its author should know instead. */
export const NOT_OF_TEMPLATES = {
  name: 'Its name is its key under "templates".',
  clone: 'A template that is copied from a VM says so: from: { vm: NAME }.',
  power: 'A template never runs; while it is built it is started where "install" says so.',
  restart: 'A template never runs.',
  ready: 'A template never runs, so nothing is waited for; install: { timeout: 45m } bounds an installation.',
  ownership: 'The notes of a template always say whose it is: its recipe is kept there.',
  ha: 'A template never runs, so nothing keeps it running; say it of the VMs.',
} as const;

const names = z.union([z.string(), z.array(z.string())]);
const idRange = z.union([z.number(), z.string()]);
const idRanges = z.union([idRange, z.array(idRange)]);

/** What a template says beside the fields of its VM. */
export const templateKeysSchema = z.strictObject({
  nodes: ours(
    z.array(z.string().min(1)).min(1).optional(),
    'Nodes that get a template each, in place of node; needed where the storage is local to its node.',
  ),
  vmids: ours(
    idRanges.optional(),
    'Ids it may have: 9000-9009, or a list of ids and ranges; the template of the nth node prefers the nth.',
  ),
  from: z
    .strictObject({
      vm: ours(
        z.union([z.string().min(1), z.number().int()]),
        'Name or id of an existing VM that is copied, and stays as it is.',
      ),
    })
    .describe('The VM that the template is copied from.')
    .optional(),
  install: z
    .strictObject({
      timeout: ours(duration().prefault('45m'), 'Until then the guest must have switched itself off.'),
    })
    .describe('Started from its ISO, and waited for until it switches itself off.')
    .optional(),
});

export const groupNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a group name has letters, digits, - and _, and begins with a letter');

/** What a group says beside the fields of its VMs. */
export const groupKeysSchema = z.strictObject({
  count: ours(z.number().int().min(0).optional(), 'How many VMs the group has; without count and each it has one.'),
  each: ours(
    z.array(z.union([z.string().min(1), z.number()])).optional(),
    'One VM per element; the element is its identity.',
  ),
  vmids: ours(idRanges.optional(), 'Ids the VMs may have: 101-109, or a list of ids and ranges.'),
  after: ours(names.optional(), 'Groups or VMs that must be ready first.'),
  formerly: ours(names.optional(), 'Earlier names of the group, so that a rename keeps its VMs.'),
});
export const GROUP_KEYS: ReadonlySet<string> = new Set([...Object.keys(groupKeysSchema.shape), 'overrides']);

/** Instead of `address`, in a group: its members take one after the other. */
export const addressesSchema = ours(
  z.union([z.string(), z.array(z.string())]),
  'Addresses for the members of a group, in order: 10.0.20.11-10.0.20.19/24, or a list.',
);

/** The whole file, for editors. VM fields are required only after merging, so nothing of a VM is required here. */
export const stackFileSchema = z.strictObject({
  version: ours(z.literal(1), 'Version of the format.'),
  stack: stackNameSchema,
  connection: connectionSchema.optional(),
  variables: z.record(z.string(), variableSchema).optional(),
  images: ours(z.record(imageNameSchema, imageFieldsSchema).optional(), 'Images in storages, by name.'),
  templates: ours(
    z.record(vmFieldsSchema.shape.name, z.unknown()).optional(),
    'Templates, by name: a VM that is made, perhaps left to install itself, and then converted.',
  ),
  defaults: ours(z.unknown().optional(), 'Fields merged into every VM, key by key.'),
  vms: ours(z.record(groupNameSchema, z.unknown()).optional(), 'Groups of VMs, by name.'),
  rollout: rolloutSchema.optional(),
  outputs: outputsSchema.optional(),
});
