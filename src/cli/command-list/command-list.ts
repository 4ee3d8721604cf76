/**
 * Every command: its name, arguments, options, help, and how its code is loaded. The command line and the reference page
 * are built from this list and nothing else. It imports no command, so `--help` stays fast.
 */
import type { CommandRow } from '../command.ts';
import { EXAMPLE_NAMES } from '../examples.ts';
import {
  DESTROY_DATA,
  DRY_RUN,
  evidenceOptions,
  listed,
  MOVING_OPTIONS,
  metrics,
  ONLY,
  OUTPUT_FORMATS,
  PLAN_FORMATS,
  PLANNING_OPTIONS,
  RUN_FILTERS,
  replaceOne,
  SHELLS,
  YES,
} from '../options.ts';
import { REHEARSE, SIMULATOR_COMMANDS } from './simulator-commands.ts';
import { SNAPSHOT_COMMANDS } from './snapshot-commands.ts';
import { STATE_COMMAND } from './state-command.ts';
import { TAKING_OVER } from './taking-over-commands.ts';

export const PROGRAM = {
  name: 'proxwright',
  about: 'Virtual machines on Proxmox VE: declared once, applied reliably, proven idempotent.',
  help: `
First steps:
  proxwright demo              watch it work on a simulated cluster
  proxwright init              write a stack file to start from
  proxwright validate          check the file
  proxwright doctor            check that the cluster is ready for it
  proxwright plan              show what apply would change, and why
  proxwright apply             apply the changes; run it again to resume after a failure or Ctrl-C
  proxwright verify            check that the cluster still matches the file

Connection (unless the stack file sets it):
  PROXMOX_VE_ENDPOINT          https://pve1.example.org:8006
  PROXMOX_VE_API_TOKEN         user@realm!id=secret
  PROXMOX_VE_FINGERPRINT       SHA-256 of the server's certificate, or PROXMOX_VE_CA_FILE

Exit codes: 0 done, 1 failed, 2 changes present (with --exit-code), 130 canceled.`,
} as const;

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'init',
    about: 'write a commented stack file to start from, its schema, and a .gitignore',
    options: [
      {
        flags: '--example <name>',
        about: `the example to start from: ${listed(EXAMPLE_NAMES)}`,
        values: EXAMPLE_NAMES,
        byDefault: 'ubuntu',
      },
      { flags: '--force', about: 'overwrite existing files' },
      { flags: '--schema', about: 'write only stack.schema.json' },
    ],
    help: `
Examples:
  proxwright init                              one server, cloned from a template that you have
  proxwright init --example from-bare-host     an empty host: image, template and VMs
  proxwright init --example talos-single-host  Talos: control plane, workers, and a worker for each GPU`,
    load: async () => (await import('../commands/init.ts')).runInit,
  },
  {
    name: 'validate',
    about: 'check the stack file without contacting the server; reports all problems, with positions',
    usesStack: true,
    load: async () => (await import('../commands/check/validate.ts')).runValidate,
  },
  {
    name: 'doctor',
    about: 'check server, token and cluster for this stack; each finding comes with a remedy',
    usesStack: true,
    options: [
      {
        flags: '--upgrade-to <release>',
        about: 'also show what an upgrade of Proxmox VE, to 9 for instance, will break',
      },
    ],
    help: `
It only reads. ✓ is fine, ! is a warning or could not be checked, ✗ prevents an apply (exit code 1).

Examples:
  proxwright doctor                    before the first apply, and whenever something looks wrong
  proxwright doctor --upgrade-to 9     before you upgrade Proxmox VE
  proxwright doctor --json`,
    load: async () => (await import('../commands/check/doctor.ts')).runDoctor,
  },
  {
    name: 'permissions',
    about:
      'print the smallest roles and ACL entries for this stack, and which privileges the token lacks or has to spare',
    usesStack: true,
    options: [
      {
        flags: '--lifecycle',
        about: 'for everything the VMs ever need (create, change, start, stop, destroy), not only the next apply',
      },
      {
        flags: '--pve <release>',
        about: 'for this release of Proxmox VE, 8.4 or 9.2 for instance, without contacting a server',
      },
      { flags: '--for <token>', about: 'for this user or token (user@realm!id) instead of the one in use' },
      { flags: '--name <name>', about: 'prefix of the role names (default: Proxwright)' },
      {
        flags: '--vms <where>',
        about: 'ACL entries for VMs: "each" for one per VM, which is removed with the VM, or "all" for one on /vms',
        values: ['each', 'all'],
      },
      { flags: '--apply', about: "create the roles and entries with an administrator's token" },
      { flags: '--admin-token-env <name>', about: 'variable that holds that token (default: PROXMOX_VE_ADMIN_TOKEN)' },
      { flags: '--admin-token-file <file>', about: 'file that holds that token' },
      YES,
    ],
    help: `
The output is a script: commands for an administrator, and comments.

Examples:
  proxwright permissions                                what the next apply needs
  proxwright permissions --lifecycle | ssh root@pve1 sh
  proxwright permissions --lifecycle --pve 9.2 --for 'deploy@pve!proxwright'    before you have a token
  PROXMOX_VE_ADMIN_TOKEN='root@pam!admin=…' proxwright permissions --lifecycle --apply --name lab`,
    load: async () => (await import('../commands/permissions/permissions.ts')).runPermissions,
  },
  {
    name: 'plan',
    about: 'show what apply would change, and why; changes nothing',
    usesStack: true,
    options: [
      ...PLANNING_OPTIONS,
      { flags: '--out <file>', about: 'also write the plan to a file, for apply' },
      { flags: '--exit-code', about: 'exit with 2 if there are changes' },
      { flags: '--summary', about: 'one line for each group, without the fields' },
      {
        flags: '--format <format>',
        about: `${listed(PLAN_FORMATS)}, a comment for a pull or merge request`,
        values: PLAN_FORMATS,
      },
      { flags: '--max-size <bytes>', about: 'shorten the comment to this size (default: 65000, for GitHub)' },
    ],
    help: `
Examples:
  proxwright plan --only vm.worker[2]
  proxwright plan --format markdown > comment.md
  proxwright plan --out plan.json && proxwright apply plan.json
  proxwright plan --exit-code      0: no changes, 2: changes, 1: failed`,
    load: async () => (await import('../commands/change/plan.ts')).runPlan,
  },
  REHEARSE,
  {
    name: 'apply',
    about: 'make the cluster match the file, with live progress; resumes an interrupted run',
    arguments: [{ name: '[plan]', about: 'a plan written by plan --out; refused if anything changed since' }],
    usesStack: true,
    options: [
      ...PLANNING_OPTIONS,
      ...evidenceOptions('with --verify: '),
      YES,
      { flags: '--verify', about: 'validate, run doctor, plan, apply, and plan again: the last plan must be empty' },
    ],
    help: `
Examples:
  proxwright apply --verify --var-file prod.yaml --task P2-T5 --note 'first apply after the upgrade'
  proxwright apply --verify --evidence docs/evidence.md`,
    load: async () => (await import('../commands/change/apply.ts')).runApply,
  },
  {
    name: 'verify',
    about: 'check that the cluster still matches the file: validate, doctor, plan; changes nothing',
    usesStack: true,
    options: [ONLY, ...evidenceOptions()],
    load: async () => (await import('../commands/check/verify.ts')).runVerify,
  },
  {
    name: 'drift',
    about: 'show what was changed outside Proxwright since the last apply',
    usesStack: true,
    options: [ONLY, { flags: '--exit-code', about: 'exit with 2 if there is drift' }],
    load: async () => (await import('../commands/check/drift.ts')).runDrift,
  },
  {
    name: 'destroy',
    about: 'destroy the VMs of this stack and their disks, after confirmation',
    usesStack: true,
    options: [
      ONLY,
      YES,
      { flags: '--stop', about: 'stop running VMs immediately instead of shutting them down' },
      { flags: '--refuse-running', about: 'refuse to destroy running VMs' },
      { flags: '--all', about: 'also destroy the templates it built and the images it downloaded or uploaded' },
      DESTROY_DATA,
    ],
    load: async () => (await import('../commands/change/destroy.ts')).runDestroy,
  },
  {
    name: 'drain',
    about: 'move the VMs of this stack off a node, while they run where that is possible, after confirmation',
    arguments: [{ name: '<node>', about: 'the node to empty, before maintenance for instance' }],
    usesStack: true,
    options: [ONLY, ...MOVING_OPTIONS, DRY_RUN, YES],
    help: `
The targets are chosen by free memory and by the spread of each group. A VM that cannot move is named before anything moves.
The file is not changed, and an apply leaves the VMs where they are.

Examples:
  proxwright drain pve1 --dry-run      show the moves, change nothing
  proxwright drain pve1                run it again to resume after a failure or Ctrl-C
  proxwright rebalance                 afterwards: move VMs back to the node that the file names`,
    load: async () => (await import('../commands/change/relocate.ts')).runDrain,
  },
  {
    name: 'rebalance',
    about: 'move VMs to where the file places them, with as few moves as possible, after confirmation',
    usesStack: true,
    options: [ONLY, ...MOVING_OPTIONS, DRY_RUN, YES],
    help: `
Examples:
  proxwright rebalance --dry-run       show the moves, change nothing
  proxwright rebalance --only vm.worker`,
    load: async () => (await import('../commands/change/relocate.ts')).runRebalance,
  },
  ...SNAPSHOT_COMMANDS,
  {
    name: 'image',
    about: 'images of the stack: files that Proxmox downloads or Proxwright uploads',
    commands: [
      {
        name: 'ensure',
        about: 'download or upload the images of the stack; leaves correct ones alone',
        arguments: [{ name: '[names...]', about: 'only these images' }],
        usesStack: true,
        options: [YES, replaceOne('image')],
        help: `
Example:
  proxwright image ensure noble --replace image.noble    download it again and overwrite the existing file`,
        load: async () => (await import('../commands/change/ensure.ts')).runEnsure.bind(undefined, 'image'),
      },
    ],
  },
  {
    name: 'template',
    about: 'templates of the stack: built once, then cloned',
    commands: [
      {
        name: 'ensure',
        about: 'build the templates of the stack, and the images they need; leaves correct ones alone',
        arguments: [{ name: '[names...]', about: 'only these templates' }],
        usesStack: true,
        options: [YES, replaceOne('template')],
        help: `
Example:
  proxwright template ensure --yes    in a nightly job: does nothing until a template definition changes`,
        load: async () => (await import('../commands/change/ensure.ts')).runEnsure.bind(undefined, 'template'),
      },
    ],
  },
  {
    name: 'output',
    about: 'print the outputs of the stack, or one of them, without contacting the server',
    arguments: [{ name: '[name]', about: 'one output, such as vms or talos_cluster_endpoint' }],
    usesStack: true,
    options: [
      {
        flags: '--format <format>',
        about: listed(OUTPUT_FORMATS),
        values: OUTPUT_FORMATS,
      },
      { flags: '--contract <name>', about: 'only the outputs of this contract: talos', values: ['talos'] },
    ],
    help: `
Examples:
  proxwright output --format ansible > inventory.yaml
  eval "$(proxwright output --format shell)"
  proxwright output --format talos-script > talos.sh
  proxwright output talos_cluster_endpoint`,
    load: async () => (await import('../commands/show/output.ts')).runOutput,
  },
  ...TAKING_OVER,
  STATE_COMMAND,
  {
    name: 'runs',
    about: 'list earlier runs: when, by whom, from where, at which commit, how they ended, how long they took',
    usesStack: true,
    options: [...RUN_FILTERS, metrics(' (of the last run)')],
    help: `
Examples:
  proxwright runs --since 7d --outcome failed
  proxwright runs show last`,
    load: async () => (await import('../commands/show/runs.ts')).runRuns,
    commands: [
      {
        name: 'list',
        about: 'the same as runs alone',
        usesStack: true,
        options: [...RUN_FILTERS, metrics(' (of the last run)')],
        load: async () => (await import('../commands/show/runs.ts')).runRuns,
      },
      {
        name: 'show',
        about: 'show one run: VM by VM, step by step, with durations and failures',
        arguments: [{ name: '<id>', about: 'a run id, an unambiguous part of one, or "last"' }],
        usesStack: true,
        options: [metrics()],
        load: async () => (await import('../commands/show/runs.ts')).runRunsShow,
      },
    ],
  },
  {
    name: 'report',
    about: 'write one run as a page and a picture: timeline, waits, retries, failures, critical path',
    arguments: [{ name: '[run]', about: 'a run id, an unambiguous part of one, or "last" (default)' }],
    usesStack: true,
    options: [{ flags: '--out <file>', about: 'the page; the picture is next to it (default: reports/RUN.html)' }],
    help: `
The page is one file that loads nothing and needs no server. The picture is SVG, for a wiki or a ticket.

Examples:
  proxwright report
  proxwright report 20261118T0915 --out incident.html`,
    load: async () => (await import('../commands/show/report.ts')).runReport,
  },
  {
    name: 'ui',
    about: 'serve a page on this machine: cluster, plan, the current run, earlier runs, drift, outputs, doctor',
    usesStack: true,
    options: [{ flags: '--port <port>', about: 'where to listen on 127.0.0.1; 0 picks a free one', byDefault: '0' }],
    help: `
It only reads: the page cannot change anything. Without --file it shows every stack of this directory.
The printed link works once. Ctrl-C stops the page.

Examples:
  proxwright ui
  proxwright ui --port 7080        behind ssh -L 7080:127.0.0.1:7080, for a page on another machine`,
    load: async () => (await import('../commands/show/ui.ts')).runUi,
  },
  ...SIMULATOR_COMMANDS,
  {
    name: 'completion',
    about: 'print a script that completes commands, options and addresses in your shell',
    arguments: [{ name: '<shell>', about: listed(SHELLS), values: SHELLS }],
    help: `
Once, for the shell you use:
  echo 'eval "$(proxwright completion bash)"' >> ~/.bashrc
  echo 'eval "$(proxwright completion zsh)"' >> ~/.zshrc             after compinit
  proxwright completion fish > ~/.config/fish/completions/proxwright.fish`,
    load: async () => (await import('../commands/completion.ts')).runCompletion,
  },
  {
    name: 'complete',
    about: 'print what can follow these words; the completion scripts call it',
    isHidden: true,
    arguments: [{ name: '[words...]', about: 'what has been typed so far' }],
    load: async () => (await import('../commands/completion.ts')).runComplete.bind(undefined, COMMANDS),
  },
];
