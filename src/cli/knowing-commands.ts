/** Names, options and help of the commands that find out beforehand: what stands in the way, and which rights it takes. */
import type { Command } from 'commander';
import type { DoctorOptions } from './commands/doctor.ts';
import type { PermissionsOptions } from './commands/permissions.ts';
import { type RunCommand, stackOptions } from './stack-options.ts';

export function addDoctor(program: Command, run: RunCommand): void {
  stackOptions(program.command('doctor'))
    .description('examine server, token and cluster as this stack needs them; each finding with one remedy')
    .option('--upgrade-to <release>', 'also: what an upgrade of Proxmox VE, to 9 for instance, will break')
    .addHelpText('after', DOCTOR_EXAMPLES)
    .action(async (options: DoctorOptions) => {
      await run(options, async (host) => (await import('./commands/doctor.ts')).runDoctor(options, host));
    });
}

const DOCTOR_EXAMPLES = `
It reads only. ✓ is well, ! is worth knowing or could not be checked, ✗ stands in the way (exit code 1).

Examples:
  proxwright doctor                    before the first apply, and whenever something is odd
  proxwright doctor --upgrade-to 9     before Proxmox VE is upgraded
  proxwright doctor --json`;

export function addPermissions(program: Command, run: RunCommand): void {
  stackOptions(program.command('permissions'))
    .description(
      'print the smallest roles and entries for this stack, and what the token has too little or too much of',
    )
    .option('--lifecycle', 'for the whole life of the VMs: make, change, switch, destroy; not only for the next apply')
    .option('--pve <release>', 'for this release of Proxmox VE, 8.4 or 9.2 for instance, without asking a server')
    .option('--for <token>', 'for this user or token (user@realm!id) instead of the one in use')
    .option('--name <name>', 'what the names of the roles begin with (default: Proxwright)')
    .option('--vms <where>', 'entries for VMs: "each", which go with their VM, or "all", one on /vms')
    .option('--apply', "make roles and entries with an administrator's token")
    .option('--admin-token-env <name>', 'variable that holds that token (default: PROXMOX_VE_ADMIN_TOKEN)')
    .option('--admin-token-file <file>', 'file that holds it')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', PERMISSIONS_EXAMPLES)
    .action(async (options: PermissionsOptions) => {
      await run(options, async (host) => (await import('./commands/permissions.ts')).runPermissions(options, host));
    });
}

const PERMISSIONS_EXAMPLES = `
What it prints is a script: commands for an administrator, everything else as comments.

Examples:
  proxwright permissions                                what the next apply needs
  proxwright permissions --lifecycle | ssh root@pve1 sh
  proxwright permissions --lifecycle --pve 9.2 --for 'deploy@pve!proxwright'    before there is a token
  PROXMOX_VE_ADMIN_TOKEN='root@pam!admin=…' proxwright permissions --lifecycle --apply --name lab`;
