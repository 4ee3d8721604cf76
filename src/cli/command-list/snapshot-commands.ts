/** The rows of `snapshot` and `rollback` in the list of commands. */
import type { CommandRow } from '../command.ts';
import { DRY_RUN, HOOK_OPTIONS, ONLY, YES } from '../options.ts';

export const SNAPSHOT_COMMANDS: readonly CommandRow[] = [
  {
    name: 'snapshot',
    about: 'snapshots of the VMs of this stack',
    commands: [
      {
        name: 'create',
        about: 'take a snapshot of each VM, while it runs',
        arguments: [{ name: '<name>', about: 'its name: 2 to 40 letters, digits, _ and -, a letter first' }],
        usesStack: true,
        options: [
          ONLY,
          { flags: '--memory', about: 'also save the memory of running VMs, to continue from that moment' },
          { flags: '--description <text>', about: 'a description; the id of the run is added to it' },
          DRY_RUN,
        ],
        help: `
Without --memory, a guest with the agent writes its file systems to disk first.

Examples:
  proxwright snapshot create before-upgrade
  proxwright snapshot create before-upgrade --only vm.database --description 'before PostgreSQL 18'`,
        load: async () => (await import('../commands/change/snapshot.ts')).runCreate,
      },
      {
        name: 'list',
        about: 'list the snapshots of each VM: when, by which run, with or without memory',
        usesStack: true,
        options: [ONLY],
        load: async () => (await import('../commands/change/snapshot.ts')).runList,
      },
      {
        name: 'delete',
        about: 'delete a snapshot of each VM that has it, after confirmation; the VM stays as it is',
        arguments: [{ name: '<name>', about: 'the name of the snapshot' }],
        usesStack: true,
        options: [ONLY, DRY_RUN, YES],
        load: async () => (await import('../commands/change/snapshot.ts')).runDelete,
      },
    ],
  },
  {
    name: 'rollback',
    about: 'roll VMs back to a snapshot, after confirmation; data written since is lost',
    arguments: [{ name: '<name>', about: 'the name of the snapshot; every selected VM must have it' }],
    usesStack: true,
    options: [
      ONLY,
      { flags: '--no-start', about: 'leave running VMs stopped afterwards' },
      ...HOOK_OPTIONS,
      DRY_RUN,
      YES,
    ],
    help: `
Proxmox stops a running VM without shutting its guest down; Proxwright then starts it and waits until it is ready.
Members of a group take turns (update.max_unavailable), with their hooks. The file is not changed: the next plan shows the differences.

Examples:
  proxwright rollback before-upgrade --dry-run
  proxwright rollback before-upgrade --only vm.database`,
    load: async () => (await import('../commands/change/snapshot.ts')).runRollback,
  },
];
