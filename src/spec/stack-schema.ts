/**
 * The shape of a stack file, section by section. VM fields come from the field table of the VM; the rest is here. Resolving
 * a stack checks the sections one by one; editors get the whole.
 */

import { z } from 'zod';
import { advice, setting } from '../base/hint.ts';
import { parseIp } from '../base/values/ip-address.ts';
import { parseByteSize } from '../base/values/units.ts';
import { block, byteSize, duration, type FieldFacts, field, whole } from '../kinds/fields/field.ts';
import { imageFieldsSchema } from '../kinds/image/fields.ts';
import { secretReference } from '../kinds/vm/fields/cloud-init.ts';
import { vmFieldsSchema } from '../kinds/vm/fields/index.ts';
import { updateFields } from '../kinds/vm/fields/lifecycle.ts';
import { ELEMENT_TYPES, VARIABLE_TYPES } from './variables/types.ts';

/** A field that changes nothing on the server. */
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

export const connectionSchema = block(() => ({
  endpoint: ours(
    z
      .string()
      .regex(
        /^(https:\/\/)?[^\s/@:]+(:\d+)?(\/(api2(\/(json|extjs))?)?\/?)?$|^(https:\/\/)?\[[0-9a-fA-F:]+\](:\d+)?\/?$/,
        'an endpoint looks like https://pve1.example.org:8006',
      )
      .optional(),
    'URL of the API. Default: `PROXMOX_VE_ENDPOINT`.',
    // Not secret in itself, but people paste user:password@host.
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
  ca: ours(z.string().min(1).optional(), 'PEM file with the certificate of the authority.'),
  token: ours(secretReference.optional(), 'Where to find the API token. Default: `PROXMOX_VE_API_TOKEN`.', {
    secret: true,
  }),
}));

const url = (protocols: string, example: string) =>
  z
    .string()
    .regex(new RegExp(`^(${protocols})://[^\\s]+$`), `an address looks like ${example}`)
    .refine(
      (text) => !/^[a-z0-9]+:\/\/[^/@\s]*:[^/@\s]*@/.test(text),
      'do not write the password here: set "password"',
    );
const caFile = ours(z.string().min(1).optional(), 'PEM file with the certificate of the authority.');
const method = (byDefault: string, what: string) =>
  ours(z.enum(['POST', 'PUT', 'LOCK', 'UNLOCK', 'DELETE']).optional(), `Method to ${what}. Default: \`${byDefault}\`.`);

/** Keys of the HTTP store are those of Terraform's `http` backend. */
export const stateSchema = block(() => ({
  local: ours(z.literal(true).optional(), 'In the directory `.proxwright` next to the file. This is the default.'),
  postgres: block(() => ({
    address: ours(url('postgres(?:ql)?', 'postgres://user@db.example.org/database'), 'Address of the database.'),
    password: ours(secretReference.optional(), 'Where to find the password. Default: `PGPASSWORD`, then `~/.pgpass`.', {
      secret: true,
    }),
    schema: ours(
      z
        .string()
        .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'a schema name has lower-case letters, digits and _')
        .optional(),
      'Schema that holds the tables. Default: `proxwright`.',
    ),
    ca: caFile,
  }))
    .describe('In a PostgreSQL database.')
    .optional(),
  s3: block(() => ({
    bucket: ours(
      z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'it is not the name of a bucket'),
      'Name of the bucket.',
    ),
    prefix: ours(
      z
        .string()
        .regex(/^[^/\s][^\s]*$/, 'a prefix does not begin with /')
        .optional(),
      'Prefix of the object names. Default: `proxwright`.',
    ),
    region: ours(z.string().min(1).optional(), 'Region. Default: `AWS_REGION`, else `us-east-1`.'),
    endpoint: ours(url('https?', 'https://s3.example.org').optional(), 'Address of a server other than AWS.'),
    profile: ours(z.string().min(1).optional(), 'Profile in the shared files of AWS. Default: the usual sources.'),
    ca: caFile,
  }))
    .describe('In a bucket of an S3-compatible server with conditional writes.')
    .optional(),
  http: block(() => ({
    address: ours(
      url('https?', 'https://gitlab.example.org/api/v4/projects/7/terraform/state/lab'),
      'Address of the state.',
    ),
    update_method: method('POST', 'write the state'),
    lock_address: ours(url('https?', 'https://…/lock').optional(), 'Address of the lock. Default: that of the state.'),
    lock_method: method('LOCK', 'take the lock'),
    unlock_address: ours(
      url('https?', 'https://…/lock').optional(),
      'Address to release the lock. Default: that of the lock.',
    ),
    unlock_method: method('UNLOCK', 'release the lock'),
    username: ours(z.string().min(1).optional(), 'User name. Default: `TF_HTTP_USERNAME`.'),
    password: ours(secretReference.optional(), 'Where to find the password or token. Default: `TF_HTTP_PASSWORD`.', {
      secret: true,
    }),
    ca: caFile,
  }))
    .describe('Behind Terraform’s HTTP protocol for states, as in GitLab.')
    .optional(),
  keep_runs: ours(
    z.int().min(10).max(10_000).optional(),
    'How many runs to keep for `proxwright runs`. Older ones are removed at the end of an apply, except those that are not resumed yet. Default: 100.',
  ),
})).refine(
  ({ keep_runs, ...stores }) => storesIn(stores) === 1 || (storesIn(stores) === 0 && keep_runs !== undefined),
  {
    error: 'it needs one of "local", "postgres", "s3" and "http"',
  },
);

const storesIn = (stores: object) => Object.values(stores).filter((each) => each !== undefined).length;

export const variableSchema = block(() => ({
  type: ours(z.enum(VARIABLE_TYPES), 'Type of the value.'),
  of: ours(z.enum(ELEMENT_TYPES).optional(), 'Type of the elements of a list or map.'),
  min: ours(z.union([z.number(), z.string()]).optional(), 'Smallest value, or smallest number of elements.'),
  max: ours(z.union([z.number(), z.string()]).optional(), 'Largest value, or largest number of elements.'),
  pattern: ours(z.string().min(1).optional(), 'Regular expression that text must match.'),
  default: ours(z.unknown().optional(), 'Default value. Without it, the variable is required.'),
  description: ours(z.string().optional(), 'What the variable is for.'),
  sensitive: ours(
    z.boolean().optional(),
    'Hide the value everywhere: in messages, plans, plan files, the state and journals. Only description, tags, extra, other plain keys and cloud-init files can use it.',
  ),
}));
export type VariableDeclaration = z.output<typeof variableSchema>;

const atLeastOne = whole(1);

export const rolloutSchema = block(() => ({
  stagger: ours(duration().prefault('0s'), 'Minimum time between two creations.'),
  readiness: ours(
    z.enum(['sequential', 'parallel']).default('sequential'),
    'Whether to wait for VMs one after the other or all at once.',
  ),
  on_failure: ours(z.enum(['continue', 'stop']).default('continue'), 'What happens to the other VMs when one fails.'),
  update: updateFields.prefault({}),
  disk_move_limit: ours(
    byteSize().optional(),
    'How much Proxmox copies per second when it moves a disk to another storage or format, such as `100MiB`. Without it only the limits of the storages apply.',
  ),
  retry: block(() => ({
    attempts: ours(
      atLeastOne.max(1000).optional(),
      'Attempts while a lock is held. Without it only `rollout.timeouts.lock` limits them.',
    ),
    first: ours(duration().prefault('2s'), 'First pause; each further pause is twice as long.'),
    max: ours(duration().prefault('30s'), 'Longest pause.'),
  })).prefault({}),
  limits: block(() => ({
    vms: ours(atLeastOne.default(10), 'Concurrent VMs that are created or changed.'),
    clones_per_node: ours(atLeastOne.default(2), 'Concurrent clones and migrations per node.'),
    clones_per_storage: ours(atLeastOne.default(2), 'Concurrent clones per storage.'),
    destroys: ours(atLeastOne.default(2), 'Concurrent deletions of VMs; guests shut down before that, all at once.'),
    requests: ours(atLeastOne.max(100).default(6), 'Concurrent API requests.'),
    agent_calls: ours(atLeastOne.default(2), 'Concurrent guest agent calls.'),
    group_size: ours(whole(1, 10_000).default(50), 'Maximum number of VMs in one group.'),
  })).prefault({}),
  timeouts: block(() => ({
    clone: ours(duration().prefault('30m'), 'Timeout of a clone.'),
    disk_move: ours(duration().prefault('12h'), 'Timeout for a disk to move to another storage or format.'),
    start: ours(duration().prefault('5m'), 'Timeout of a start.'),
    ready: ours(duration().prefault('30m'), 'Timeout for a VM to become ready.'),
    shutdown: ours(duration().prefault('3m'), 'Timeout of a shutdown.'),
    lock: ours(duration().prefault('10m'), 'Total time one step may wait for locks.'),
    image: ours(duration().prefault('1h'), 'Timeout for the download or upload of an image.'),
    unreachable: ours(duration().prefault('5m'), 'How long a run waits for a server that does not answer.'),
  })).prefault({}),
}));

export const outputsSchema = block(() => ({
  talos: block(() => ({
    vip: ours(
      z
        .string()
        .refine((text) => parseIp(text) !== undefined, 'it is not an IP address')
        .optional(),
      'Virtual IP of the control plane.',
    ),
  })).optional(),
  files: ours(z.string().min(1).optional(), 'Directory for output files.'),
}));

const imageName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'an image name has letters and digits, and after the first character also _ . and -',
    );
export const imageNameSchema = imageName();

/** Instead of `import_from` or `iso`, in a disk: it is replaced by the image's storage and file. */
export const diskImageSchema = ours(imageName(), 'Image of the stack, instead of `import_from` or `iso`.', {
  effect: 'creation',
});

/** Fields of a VM that a template cannot have, each with a hint. */
export const NOT_OF_TEMPLATES = {
  name: 'Its name is its key under "templates".',
  clone: advice`To copy a VM, write ${setting('from', { vm: 'NAME' })}.`,
  power: 'A template never runs. To start it while it is built, use "install".',
  restart: 'A template never runs.',
  ready: advice`A template never runs, so there is nothing to wait for. For an installation, write ${setting('install', { timeout: '45m' })}.`,
  ownership: 'A template always has an ownership line, because its notes hold the recipe.',
  ha: 'A template never runs. Set it for the VMs.',
  update: 'A template never runs. Set it for the VMs.',
  snapshot: 'Proxmox takes no snapshot of a template. Set it for the VMs.',
  hooks: 'A template never runs. Set it for the VMs.',
  placement: 'A template is built on each of its nodes.',
} as const;

const names = z.union([z.string(), z.array(z.string())]);
const idRange = z.union([z.number(), z.string()]);
const idRanges = z.union([idRange, z.array(idRange)]);

/** Keys of a template in addition to the fields of its VM. */
export const templateKeysSchema = block(() => ({
  nodes: ours(
    z.array(z.string().min(1)).min(1).optional(),
    'Nodes that each get a template, instead of `node`. Needed if the storage is local to its node.',
  ),
  vmids: ours(
    idRanges.optional(),
    'IDs it may have: `9000-9009`, or a list of IDs and ranges. The template of the nth node prefers the nth ID.',
  ),
  from: block(() => ({
    vm: ours(
      z.union([z.string().min(1), z.number().int()]),
      'Name or ID of an existing VM to copy. The VM stays as it is.',
    ),
  }))
    .describe('The VM to copy.')
    .optional(),
  install: block(() => ({
    timeout: ours(duration().prefault('45m'), 'The guest must power itself off within this time.'),
  }))
    .describe('Boot the ISO and wait until the guest powers itself off.')
    .optional(),
}));

export const groupNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a group name has letters, digits, - and _, and begins with a letter');

/** Part of a node's memory: a percentage, or a size. */
const keepFree = z.union([z.string(), z.number()]).transform((value, context) => {
  const percent = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*%$/.exec(value.trim())?.[1] : undefined;
  if (percent !== undefined && Number(percent) < 100) return { share: Number(percent) / 100 };
  const bytes = typeof value === 'string' ? parseByteSize(value) : undefined;
  if (bytes !== undefined) return { bytes };
  context.addIssue({
    code: 'custom',
    message: `"${value}" is neither a percentage below 100% nor a size; write 10% or 8GiB`,
  });
  return z.NEVER;
});

/** Instead of `node`, in a group, in `defaults` and in overrides. */
export const placementKeysSchema = block(() => ({
  nodes: ours(
    z.union([z.literal('all'), z.array(z.string().min(1)).min(1)]).optional(),
    'Nodes to choose among, instead of `node`: a list, or `all`. An existing VM stays where it is.',
    { effect: 'creation' },
  ),
  placement: block(() => ({
    spread: ours(
      z.boolean().optional(),
      'Place the members of a group apart: over zones first, then over their nodes. Default: true.',
      { effect: 'creation' },
    ),
    max_per_node: ours(whole(1).optional(), 'Maximum number of members of the group on one node.', {
      effect: 'creation',
    }),
    by: ours(
      z.enum(['memory', 'cores']).optional(),
      'Which free resource decides between otherwise equal nodes. Default: memory.',
      { effect: 'creation' },
    ),
    keep_free: ours(keepFree.optional(), 'Memory of each node that stays free: `10%`, or a size.', {
      effect: 'creation',
    }),
    apart_from: ours(names.optional(), 'Groups that must not be on the same node.', { effect: 'creation' }),
    ha_rules: ours(
      z.boolean().optional(),
      'For VMs with `ha`: keep HA rules (groups before Proxmox VE 9), so that a failover respects the placement, too. Default: true.',
      { effect: 'live' },
    ),
  }))
    .describe('How the plan chooses among `nodes`.')
    .optional(),
}));

export const zonesSchema = z.record(
  z
    .string()
    .max(63)
    .regex(
      /^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/,
      'a zone name has letters and digits, and between them also - _ and .',
    ),
  z.array(z.string().min(1)).min(1),
);

/** Keys of a group in addition to the fields of its VMs. */
export const groupKeysSchema = block(() => ({
  count: ours(whole(0).optional(), 'Number of VMs in the group. Without `count` and `each` it has one.'),
  each: ours(
    z.array(z.union([z.string().min(1), z.number()])).optional(),
    'One VM per element. The element is the VM’s identity.',
  ),
  vmids: ours(idRanges.optional(), 'IDs the VMs may have: `101-109`, or a list of IDs and ranges.'),
  after: ours(names.optional(), 'Groups or VMs that must be ready first.'),
  formerly: ours(names.optional(), 'Former names of the group, so that a rename keeps its VMs.'),
}));
export const GROUP_KEYS: ReadonlySet<string> = new Set([...Object.keys(groupKeysSchema.shape), 'overrides']);

/** Instead of `address`, in a group: the nth member takes the nth address. */
export const addressesSchema = ours(
  z.union([z.string(), z.array(z.string())]),
  'Addresses for the members of a group, in order: `10.0.20.11-10.0.20.19/24`, or a list.',
);

/** The whole file, for editors. VM fields are required only after merging, so none is required here. */
export const stackFileSchema = block(() => ({
  version: ours(z.literal(1), 'Version of the format.'),
  stack: stackNameSchema,
  connection: connectionSchema.optional(),
  state: ours(stateSchema.optional(), 'Where the state is kept. Default: `PROXWRIGHT_STATE`, else a local directory.'),
  variables: z.record(z.string(), variableSchema).optional(),
  images: ours(z.record(imageNameSchema, imageFieldsSchema).optional(), 'Images in storages, by name.'),
  templates: ours(z.record(vmFieldsSchema.shape.name, z.unknown()).optional(), 'Templates, by name.'),
  zones: ours(zonesSchema.optional(), 'Failure domains, such as racks, with their nodes.'),
  defaults: ours(z.unknown().optional(), 'Fields merged into every VM, key by key.'),
  vms: ours(z.record(groupNameSchema, z.unknown()).optional(), 'Groups of VMs, by name.'),
  rollout: rolloutSchema.optional(),
  outputs: outputsSchema.optional(),
}));
