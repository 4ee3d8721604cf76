/** The rows of `state` in the list of commands. */
import type { ArgumentRow, CommandRow } from '../command.ts';
import { YES } from '../options.ts';

const ADDRESS: ArgumentRow = { name: '<address>', about: "a VM of the state, such as vm.web or 'vm.worker[2]'" };

export const STATE_COMMAND: CommandRow = {
  name: 'state',
  about: 'what Proxwright has recorded about the VMs: show, correct, back up, rebuild',
  commands: [
    {
      name: 'list',
      about: 'list the VMs',
      usesStack: true,
      load: async () => (await import('../commands/state/state.ts')).runStateList,
    },
    {
      name: 'show',
      about: 'show one VM: identity, addresses, last applied values; secrets as digests',
      arguments: [ADDRESS],
      usesStack: true,
      load: async () => (await import('../commands/state/state.ts')).runStateShow,
    },
    {
      name: 'mv',
      about: 'change the address of a VM, after you renamed a group',
      arguments: [
        { name: '<from>', about: 'its address in the state' },
        { name: '<to>', about: 'its address in the stack file now' },
      ],
      usesStack: true,
      load: async () => (await import('../commands/state/state.ts')).runStateMove,
    },
    {
      name: 'forget',
      about: 'remove a VM from the state; the VM itself stays',
      arguments: [ADDRESS],
      usesStack: true,
      options: [YES, { flags: '--release', about: 'also remove the ownership line from its notes' }],
      load: async () => (await import('../commands/state/state.ts')).runStateForget,
    },
    {
      name: 'backup',
      about: 'save a named copy of the state, which is never removed automatically',
      arguments: [{ name: '[name]', about: 'name of the copy (default: the current time)' }],
      usesStack: true,
      options: [{ flags: '--out <file>', about: 'write it to a file instead, for instance on another disk' }],
      load: async () => (await import('../commands/state/backup.ts')).runStateBackup,
    },
    {
      name: 'restore',
      about: 'restore a backup and compare it with the cluster, before and after; without a name, list the backups',
      arguments: [{ name: '[name]', about: 'a backup, or a file' }],
      usesStack: true,
      options: [YES],
      load: async () => (await import('../commands/state/backup.ts')).runStateRestore,
    },
    {
      name: 'recover',
      about: "rebuild a lost state from the ownership lines in the VMs' notes",
      usesStack: true,
      options: [YES],
      load: async () => (await import('../commands/state/recover.ts')).runStateRecover,
    },
    {
      name: 'migrate',
      about: 'move the state to another store: copy, verify, and stop copies that use the old one',
      usesStack: true,
      options: [
        YES,
        {
          flags: '--to <store>',
          about: 'local, postgres://user@host/database, s3://bucket/prefix or https://host/path',
        },
      ],
      load: async () => (await import('../commands/state/migrate.ts')).runStateMigrate,
    },
    {
      name: 'unlock',
      about: 'remove the lock of a dead run, and say whose it was',
      usesStack: true,
      options: [
        YES,
        { flags: '--id <run>', about: 'remove exactly the lock of this run, without a question' },
        { flags: '--force', about: 'even if its process is alive on this machine' },
      ],
      load: async () => (await import('../commands/state/state.ts')).runStateUnlock,
    },
  ],
};
