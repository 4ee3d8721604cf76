/**
 * The command line: names, options and help of every command. A command's own code is loaded when it runs, so that
 * `--version` and `--help` need nothing but this.
 */
import { createRequire } from 'node:module';
import { Command } from 'commander';
import type { CommandHost, ExitCode, GlobalOptions } from './command-host.ts';
import type { SimOptions } from './commands/sim.ts';

export type RunCommand = (options: GlobalOptions, command: (host: CommandHost) => Promise<ExitCode>) => Promise<void>;

export function createProgram(run: RunCommand): Command {
  const program = new Command('proxwright')
    .description('Virtual machines on Proxmox VE: declared once, applied reliably, proven idempotent.')
    .version(packageVersion(), '-V, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('Run it with --help to see what it understands.')
    .exitOverride();
  addSim(program, run);
  return program;
}

function addSim(program: Command, run: RunCommand): void {
  withGlobalOptions(program.command('sim'))
    .description('serve a simulated Proxmox VE cluster over HTTPS')
    .option('--listen <address:port>', 'where to listen; port 0 picks a free one', '127.0.0.1:8006')
    .option('--world <file>', 'world file, or "default" or "recorded"', 'default')
    .option('--seed <seed>', 'decides everything that is left to chance', '1')
    .option('--speed <factor>', 'how much faster than real time', '1')
    .option('--faults <rules>', 'rules such as "lock:qemu/*/config@2x3,cut-after:clone@1", a file of them, or "seeded"')
    .action(async (options: SimOptions & GlobalOptions) => {
      await run(options, async (host) => {
        const { runSim } = await import('./commands/sim.ts');
        return runSim(options, host);
      });
    });
}

function withGlobalOptions(command: Command): Command {
  return command
    .option('--log-level <level>', 'error, warn, info or debug (also PROXMOX_LOG_LEVEL)')
    .option('--json', 'print JSON instead of text');
}

function packageVersion(): string {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }; // our own file
  return version;
}
