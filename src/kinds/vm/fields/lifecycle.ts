/** Fields about how a VM changes while it runs: hooks around an outage, readiness, snapshots, and the members of a group one by one. */
import { z } from 'zod';
import { block, duration, field, whole } from '../../fields/field.ts';

/** YAML reads an argument such as 30 as a number. */
const argument = (): z.ZodType<string, string | number> =>
  z
    .union([z.string(), z.number()])
    .transform(String)
    .pipe(z.string().regex(/^[^\0]*$/, 'an argument cannot hold a NUL character'));

const hook = (when: string) =>
  block(() => ({
    run: field(z.array(argument()).min(1), {
      description: `The program and its arguments; no shell reads them. \${name}, \${address}, \${vmid}, \${node}, \${group} and \${resource} stand for the VM.`,
      effect: 'none',
      examples: [['kubectl', 'drain', `\${name}`]],
    }),
    timeout: field(duration().pipe(z.number().min(1)).optional(), {
      description: 'How long it may run; 5m by default. After that, Proxwright stops it, which counts as a failure.',
      effect: 'none',
      examples: ['10m'],
    }),
    repeatable: field(z.boolean().optional(), {
      description:
        'It may run twice: a run that resumes after a crash repeats it without asking if its end is unknown. false by default.',
      effect: 'none',
    }),
  })).describe(when);

export const hooksFields = block(() => ({
  before_stop: hook(
    'Runs before a change that makes the running VM unavailable: a restart, a replacement, a stop, a move that needs one.',
  ).optional(),
  after_ready: hook('Runs once the VM is ready again. Until it has ended, the VM counts as unavailable.').optional(),
})).describe('Programs on this machine that run before and after a change that makes the VM unavailable.');

export type HookFields = z.output<typeof hooksFields>;

const DEFAULT_TIMEOUT_MS = 5 * 60_000;

export function hookTimeoutMs({ timeout }: Pick<NonNullable<HookFields['before_stop']>, 'timeout'>): number {
  return timeout ?? DEFAULT_TIMEOUT_MS;
}

/** The variables `${…}` in an argument: known when the hook runs, not when the file is read. */
export const HOOK_NAMES = ['name', 'address', 'vmid', 'node', 'group', 'resource'] as const;
export type HookName = (typeof HOOK_NAMES)[number];

const PIECE = /\$\$\{|\$\{([^}]*)\}/g;

/** The argument with every name replaced; a name without a value stays as it is. `$${` is a literal `${`. */
export function withHookValues(argument: string, replacement: (name: HookName) => string | undefined): string {
  return argument.replace(PIECE, (piece, inner: string | undefined) => {
    if (inner === undefined) return '${';
    const name = HOOK_NAMES.find((each) => each === inner.trim());
    return (name && replacement(name)) ?? piece;
  });
}

/** Names that the arguments use. */
export function hookNamesIn(run: readonly string[]): Set<HookName> {
  const names = new Set<HookName>();
  for (const argument of run) withHookValues(argument, (name) => void names.add(name));
  return names;
}

export const readyFields = block(() => ({
  agent: field(z.boolean().optional(), { description: 'Wait until the guest agent answers.', effect: 'none' }),
  pings: field(whole(1, 20).optional(), {
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
  tcp: field(z.array(whole(1, 65_535)).optional(), {
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

const detailed = block(() => ({
  when: field(z.enum(['never', 'before_change']).default('before_change'), {
    description: 'When a snapshot is taken.',
    effect: 'none',
  }),
  keep: field(whole(1, 100).default(3), {
    description:
      'How many of these snapshots stay. The oldest ones are deleted after the change; snapshots of other clients, and those of `proxwright snapshot create`, are never deleted.',
    effect: 'none',
  }),
  memory: field(z.boolean().default(false), {
    description: 'Also save the memory. The VM keeps running; the more memory it has, the longer the snapshot takes.',
    effect: 'none',
  }),
}));

export const snapshotFields = z
  .union([
    field(z.enum(['never', 'before_change']), {
      description:
        'before_change takes a snapshot before an apply changes the configuration of the running VM, or restarts it; the newest 3 stay. never is the default. For more, set the fields below.',
      effect: 'none',
    }),
    detailed,
  ])
  .describe('Snapshots that an apply takes before a change. A new, replaced or destroyed VM gets none.');

export const updateFields = block(() => ({
  max_unavailable: field(
    z
      .union([whole(1), z.string().regex(/^([1-9]\d?|100)%$/, 'it is a number from 1, or a percentage such as 25%')])
      .optional(),
    {
      description:
        'How many members of the group may be unavailable at once: a number, or a percentage of the group, rounded down and at least 1. 1 by default.',
      effect: 'none',
      examples: [1, '25%'],
    },
  ),
  pause: field(duration().optional(), {
    description: 'Pause between a member that is ready again and the next one. None by default.',
    effect: 'none',
    examples: ['30s'],
  }),
  on_failure: field(z.enum(['stop', 'continue']).optional(), {
    description:
      'stop (the default) leaves the other members as they are once one has failed; continue changes them as well.',
    effect: 'none',
  }),
  replace: field(z.enum(['never', 'when_template_changes']).optional(), {
    description:
      'when_template_changes replaces a member, with its disks, once clone.template means another template than the member was made from. never is the default: the plan says which members are behind.',
    effect: 'none',
  }),
  order: field(z.enum(['destroy_first', 'create_first']).optional(), {
    description:
      'destroy_first (the default) replaces a member in place: it keeps its ID and addresses. create_first creates the new VM with a spare ID and spare addresses of the ranges, and destroys the old one once the new one is ready.',
    effect: 'none',
  }),
})).describe('How the group changes while it runs. `rollout.update` sets it for all groups.');

export type UpdateFields = z.output<typeof updateFields>;
