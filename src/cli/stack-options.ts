/** Options of commands, and how a command is run. Kept apart from their work, so that `--help` loads nothing else. */
import type { Command } from 'commander';
import type { CommandHost, ExitCode, GlobalOptions } from './command-host.ts';

export type RunCommand = (options: GlobalOptions, command: (host: CommandHost) => Promise<ExitCode>) => Promise<void>;

/** Options of every command that works on a stack file. */
export interface StackOptions extends GlobalOptions {
  readonly file?: string;
  readonly var?: readonly string[];
  readonly varFile?: readonly string[];
}

export function globalOptions(command: Command): Command {
  return command
    .option('--log-level <level>', 'error, warn, info or debug (also PROXMOX_LOG_LEVEL)')
    .option('--json', 'print JSON instead of text');
}

export function stackOptions(command: Command): Command {
  return globalOptions(
    command
      .option('-f, --file <file>', 'the stack file (default: stack.yaml, stack.yml or stack.json)')
      .option('--var <name=value>', 'value of a variable (repeatable)', collect)
      .option('--var-file <file>', 'file with values of variables (repeatable)', collect),
  );
}

export function onlyOption(command: Command): Command {
  return command.option('--only <address>', 'only this VM or group, such as vm.worker[2] (repeatable)', collect);
}

/** For options that may be given several times. */
export function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
