/** Options that several commands share, and how their values are described. `command-list.ts` says which command has which. */
import { LOG_LEVELS } from '../base/log.ts';
import type { CommandRow, OptionRow } from './command.ts';

/** What `output --format` offers. */
export const OUTPUT_FORMATS = [
  'human',
  'json',
  'env',
  'shell',
  'ansible',
  'dnsmasq',
  'isc-dhcp',
  'talos-script',
  'k3s-script',
  'rancher-script',
  'schema',
] as const;

/** What `plan --format` offers. */
export const PLAN_FORMATS = ['text', 'markdown'] as const;

/** The shells that `completion` knows. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const GLOBAL_OPTIONS: readonly OptionRow[] = [
  { flags: '--log-level <level>', about: `${listed(LOG_LEVELS)} (also PROXMOX_LOG_LEVEL)`, values: LOG_LEVELS },
  { flags: '--json', about: 'print JSON instead of text' },
];

export const STACK_OPTIONS: readonly OptionRow[] = [
  { flags: '-f, --file <file>', about: 'the stack file (default: stack.yaml, stack.yml or stack.json)' },
  { flags: '--var <name=value>', about: 'value of a variable', repeatable: true },
  {
    flags: '--var-file <file>',
    about: 'file with values of variables; overrides variables.yaml next to the stack file',
    repeatable: true,
  },
  { flags: '--lock-timeout <time>', about: 'how long to wait for another run of this stack, such as 5m (default: 0s)' },
];

export const YES: OptionRow = { flags: '-y, --yes', about: 'do not ask for confirmation' };

export const ONLY: OptionRow = {
  flags: '--only <address>',
  about: 'only this VM or group, such as vm.worker[2]',
  repeatable: true,
};

export const DESTROY_DATA: OptionRow = {
  flags: '--destroy-data <name>',
  about: 'destroy the disks that this VM keeps (keep: true)',
  repeatable: true,
};

export const DRY_RUN: OptionRow = { flags: '--dry-run', about: 'show the plan, and change nothing' };

/** How to treat the hooks of the file. */
export const HOOK_OPTIONS: readonly OptionRow[] = [
  { flags: '--no-hooks', about: 'run no hooks' },
  {
    flags: '--hook-again <address>',
    about: 'run a hook of this VM again that an earlier run started and did not finish',
    repeatable: true,
  },
  {
    flags: '--hook-done <address>',
    about: 'count a hook of this VM as done that an earlier run started and did not finish',
    repeatable: true,
  },
];

/** What a move to another node may do. */
export const MOVING_OPTIONS: readonly OptionRow[] = [
  ...HOOK_OPTIONS,
  { flags: '--allow-restart', about: 'shut down, move and start VMs that cannot move while they run' },
  {
    flags: '--target-storage <name>',
    about: 'storage on the new node that takes local disks (default: the same name)',
  },
];

export const PLANNING_OPTIONS: readonly OptionRow[] = [
  ONLY,
  { flags: '--allow-delete', about: 'delete VMs that are no longer in the file' },
  { flags: '--allow-restart', about: 'restart VMs whose change needs it, even if the file says never' },
  { flags: '--replace <address>', about: 'destroy this VM and create it again', repeatable: true },
  DESTROY_DATA,
  ...HOOK_OPTIONS,
];

/** `when` names the condition under which they apply. */
export const evidenceOptions = (when = ''): readonly OptionRow[] => [
  {
    flags: '--evidence <file>',
    about: `${when}table to append to, with a .jsonl log next to it (default: evidence.md next to the stack file)`,
  },
  { flags: '--no-evidence', about: `${when}write no evidence` },
  { flags: '--task <text>', about: `${when}the task that the evidence names` },
  { flags: '--note <text>', about: `${when}a note for the evidence` },
];

/** Everything a command accepts. A row without code only groups other commands. */
export function optionsOf({ load, usesStack, options = [] }: CommandRow): readonly OptionRow[] {
  if (!load) return [];
  return [...(usesStack ? STACK_OPTIONS : []), ...GLOBAL_OPTIONS, ...options];
}

export function replaceOne(kind: 'image' | 'template'): OptionRow {
  return { flags: '--replace <address>', about: `replace this one, for example ${kind}.noble`, repeatable: true };
}

export function metrics(which = ''): OptionRow {
  return { flags: '--metrics <file>', about: `also write the durations to a file, for Prometheus${which}` };
}

/** How a run can have ended, for `runs --outcome`. */
export const RUN_OUTCOMES = ['done', 'failed', 'canceled', 'interrupted', 'unfinished'] as const;

/** Which runs `runs` lists. */
export const RUN_FILTERS: readonly OptionRow[] = [
  { flags: '--user <name>', about: 'only runs of this user, of the machine or of the CI system' },
  { flags: '--host <name>', about: 'only runs from this machine' },
  { flags: '--command <name>', about: 'only runs of this command, such as apply, destroy or "state mv"' },
  { flags: '--outcome <outcome>', about: `only runs with this outcome: ${listed(RUN_OUTCOMES)}`, values: RUN_OUTCOMES },
  { flags: '--since <time>', about: 'only runs that began since then: 12h, 7d, or a date such as 2026-01-31' },
];

/** `a, b or c`. */
export function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** What `adopt` can write. */
export const ADOPT_FORMATS = ['stack', 'terraform'] as const;
