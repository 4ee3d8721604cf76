/** Names, options and help of the commands around a stack's life: its beginning, its outputs, its memory, its demo. */
import type { Command } from 'commander';
import type { GlobalOptions } from './command-host.ts';
import type { ImportOptions } from './commands/import.ts';
import type { InitOptions } from './commands/init.ts';
import type { OutputOptions } from './commands/output.ts';
import type { RunsOptions } from './commands/runs.ts';
import type { StateOptions } from './commands/state.ts';
import type { BackupOptions } from './commands/state-backup.ts';
import type { ForgetOptions } from './commands/state-forget.ts';
import type { UnlockOptions } from './commands/state-unlock.ts';
import { globalOptions, type RunCommand, stackOptions } from './stack-options.ts';

export function addInit(program: Command, run: RunCommand): void {
  globalOptions(program.command('init'))
    .description('write a commented stack file to start from, its schema, and a .gitignore')
    .option(
      '--example <name>',
      'what to start from: ubuntu, from-bare-host, ubuntu-staggered, k3s-dev, rancher-5, talos-single-host or talos-iso-template',
      'ubuntu',
    )
    .option('--force', 'replace a stack.yaml that is there')
    .option('--schema', 'write only stack.schema.json, anew')
    .addHelpText('after', INIT_EXAMPLES)
    .action(async (options: InitOptions) => {
      await run(options, async (host) => (await import('./commands/init.ts')).runInit(options, host));
    });
}

const INIT_EXAMPLES = `
Examples:
  proxwright init                              one server, cloned from a template that you have
  proxwright init --example from-bare-host     a host with nothing on it: image, template and VMs
  proxwright init --example talos-single-host  Talos: control plane, workers, and a worker for each GPU`;

export function addOutput(program: Command, run: RunCommand): void {
  stackOptions(program.command('output'))
    .description('print the outputs of the stack, or one of them; the cluster is not asked')
    .argument('[name]', 'one output, such as vms or talos_cluster_endpoint')
    .option(
      '--format <format>',
      'human, json, env, shell, ansible, dnsmasq, isc-dhcp, talos-script, k3s-script, rancher-script or schema',
    )
    .option('--contract <name>', 'only the outputs of this contract: talos')
    .addHelpText('after', OUTPUT_EXAMPLES)
    .action(async (name: string | undefined, options: OutputOptions) => {
      await run(options, async (host) => (await import('./commands/output.ts')).runOutput(name, options, host));
    });
}

const OUTPUT_EXAMPLES = `
Examples:
  proxwright output --format ansible > inventory.yaml
  eval "$(proxwright output --format shell)"
  proxwright output --format talos-script > talos.sh
  proxwright output talos_cluster_endpoint`;

export function addImport(program: Command, run: RunCommand): void {
  stackOptions(program.command('import'))
    .description('take over an existing VM, and print the stack lines for it')
    .argument('<address>', "what the stack calls it, such as vm.web or 'vm.worker[2]'")
    .argument('<vmid>', 'its id in Proxmox')
    .option('--accept-identity', 'it is the VM of this address, though its uuid is another one now (after a restore)')
    .action(async (address: string, vmid: string, options: ImportOptions) => {
      await run(options, async (host) =>
        (await import('./commands/import.ts')).runImport(address, vmid, options, host),
      );
    });
}

export function addState(program: Command, run: RunCommand): void {
  const state = program.command('state').description('what is remembered of the VMs: look, correct, back up, rebuild');
  const load = () => import('./commands/state.ts');
  const loadBackup = () => import('./commands/state-backup.ts');
  stackOptions(state.command('list'))
    .description('list the VMs')
    .action(async (options: StateOptions) => {
      await run(options, async (host) => (await load()).runStateList(options, host));
    });
  stackOptions(state.command('show'))
    .description('show one VM: identity, addresses, what was applied last; secrets as digests')
    .argument('<address>')
    .action(async (address: string, options: StateOptions) => {
      await run(options, async (host) => (await load()).runStateShow(address, options, host));
    });
  stackOptions(state.command('mv'))
    .description('give a VM another address, after a group was renamed')
    .argument('<from>')
    .argument('<to>')
    .action(async (from: string, to: string, options: StateOptions) => {
      await run(options, async (host) => (await load()).runStateMove(from, to, options, host));
    });
  withYes(state.command('forget'))
    .description('forget a VM; it stays as it is')
    .argument('<address>')
    .option('--release', "take the ownership line out of its notes as well, so that it is nobody's")
    .action(async (address: string, options: ForgetOptions) => {
      await run(options, async (host) =>
        (await import('./commands/state-forget.ts')).runStateForget(address, options, host),
      );
    });
  stackOptions(state.command('backup'))
    .description('keep a copy under a name; it is never removed')
    .argument('[name]', 'the present time unless given')
    .option('--out <file>', 'write it to a file instead, on another disk for instance')
    .action(async (name: string | undefined, options: BackupOptions) => {
      await run(options, async (host) => (await loadBackup()).runStateBackup(name, options, host));
    });
  withYes(state.command('restore'))
    .description(
      'bring a backup back, say what differs from the cluster before and after; without a name, list the backups',
    )
    .argument('[name]', 'a backup, or a file')
    .action(async (name: string | undefined, options: StateOptions) => {
      await run(options, async (host) => (await loadBackup()).runStateRestore(name, options, host));
    });
  withYes(state.command('recover'))
    .description("rebuild a lost state from the ownership lines in the VMs' notes")
    .action(async (options: StateOptions) => {
      await run(options, async (host) => (await import('./commands/state-recover.ts')).runStateRecover(options, host));
    });
  withYes(state.command('unlock'))
    .description('remove the lock of a run that no longer lives; says whose it is')
    .option('--force', 'also where its process lives on this machine')
    .action(async (options: UnlockOptions) => {
      await run(options, async (host) => (await import('./commands/state-unlock.ts')).runStateUnlock(options, host));
    });
}

function withYes(command: Command): Command {
  return stackOptions(command).option('-y, --yes', 'do not ask');
}

export function addRuns(program: Command, run: RunCommand): void {
  const load = () => import('./commands/runs.ts');
  const metrics = 'also write the durations to a file, for Prometheus';
  const runs = stackOptions(program.command('runs'))
    .description('list earlier runs: when, what, how it ended, how long it took')
    .option('--metrics <file>', `${metrics} (of the last run)`)
    .action(async (options: RunsOptions) => {
      await run(options, async (host) => (await load()).runRuns(options, host));
    });
  stackOptions(runs.command('show'))
    .description('show one run: VM by VM, step by step, with durations and failures')
    .argument('<id>', 'a run, a part of its id that is enough, or "last"')
    .option('--metrics <file>', metrics)
    .action(async (id: string, options: RunsOptions, command: Command) => {
      const all = { ...options, ...command.optsWithGlobals<RunsOptions>() };
      await run(all, async (host) => (await load()).runRunsShow(id, all, host));
    });
}

export function addDemo(program: Command, run: RunCommand): void {
  globalOptions(program.command('demo'))
    .description('watch it work: a simulated cluster, five VMs, from the plan to an empty second plan')
    .option('--speed <factor>', 'how much faster than real time', '10')
    .action(async (options: GlobalOptions & { readonly speed: string }) => {
      await run(options, async (host) => (await import('./commands/demo.ts')).runDemo(options, host));
    });
}
