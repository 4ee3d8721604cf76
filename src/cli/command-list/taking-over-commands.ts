/** The rows of the commands that take over existing VMs. */
import type { CommandRow } from '../command.ts';
import { ADOPT_FORMATS, listed, YES } from '../options.ts';

export const TAKING_OVER: readonly CommandRow[] = [
  {
    name: 'adopt',
    about: 'take over running VMs: write the stack file that describes them, and record them; changes no VM',
    usesStack: true,
    options: [
      { flags: '--pool <name>', about: 'VMs of this pool', repeatable: true },
      { flags: '--tag <tag>', about: 'VMs with this tag', repeatable: true },
      { flags: '--node <node>', about: 'VMs on this node', repeatable: true },
      { flags: '--name <pattern>', about: "VMs with such a name, for example 'web-*'", repeatable: true },
      { flags: '--ids <range>', about: 'VMs with these ids, for example 100-199', repeatable: true },
      { flags: '--all', about: 'every VM of the cluster' },
      { flags: '--stack <name>', about: 'name of a new stack (default: the name of the directory)' },
      { flags: '--claim', about: 'also write an ownership line into the notes of each VM' },
      {
        flags: '--format <format>',
        about: `${listed(ADOPT_FORMATS)}: a stack file, or a Terraform configuration with import blocks, printed`,
        values: ADOPT_FORMATS,
        byDefault: 'stack',
      },
      { flags: '--dry-run', about: 'show the file, and write nothing' },
      YES,
    ],
    help: `
Several values of one option mean any of them, several options mean all of them. Without any of them, it asks. Templates,
containers and VMs of another stack are left as they are. Run it again when new VMs have appeared: it then proposes a
change of the file.

Examples:
  proxwright adopt --pool production --dry-run     show the file, write nothing
  proxwright adopt --name 'k3s-*' --stack k3s
  proxwright adopt --all --format terraform > main.tf`,
    load: async () => (await import('../commands/adopt/adopt.ts')).runAdopt,
  },
  {
    name: 'import',
    about: 'adopt an existing VM, and print the stack lines that describe it',
    arguments: [
      { name: '<address>', about: "its address in the stack, such as vm.web or 'vm.worker[2]'" },
      { name: '<vmid>', about: 'its id in Proxmox' },
    ],
    usesStack: true,
    options: [{ flags: '--accept-identity', about: 'accept a VM whose uuid has changed, after a restore from backup' }],
    load: async () => (await import('../commands/import/import.ts')).runImport,
  },
  {
    name: 'convert',
    about: 'translate a Terraform configuration for bpg or Telmate, and list the traps in it; contacts no server',
    arguments: [{ name: '[dir]', about: 'the directory of the configuration (default: this one)' }],
    options: [
      {
        flags: '--out <path>',
        about: 'write the converted files into this new directory, or the stack file to this new file',
      },
      {
        flags: '--format <format>',
        about: `${listed(ADOPT_FORMATS)}: a stack file with all values computed, or Terraform files`,
        values: ADOPT_FORMATS,
        byDefault: 'terraform',
      },
      {
        flags: '--state <file>',
        about: 'a state file, or the output of terraform show -json, for ids and values that only it knows',
      },
      { flags: '--in-place', about: 'change the files; the old ones go to .before-convert' },
      { flags: '--lint-only', about: 'only list the traps' },
    ],
    help: `
Without --out and --in-place, it only reports. What it cannot translate stays in place as a comment, with the reason.

Exit codes: 0 everything is translated, 2 something is left for you (with --lint-only: there are traps), 1 failed.

Examples:
  proxwright convert infra                     report what would change
  proxwright convert infra --out infra-new     then: cd infra-new && terraform init && terraform plan
  proxwright convert infra --lint-only --json
  proxwright convert infra --format stack --state infra/terraform.tfstate > stack.yaml`,
    load: async () => (await import('../commands/convert.ts')).runConvert,
  },
];
