/**
 * The command line: names, options and help of every command. A command's own code is loaded when it runs, so that
 * `--version` and `--help` need nothing but this.
 */
import { Command } from 'commander';
import type { GlobalOptions } from './command-host.ts';
import type { ApplyOptions } from './commands/apply.ts';
import type { DestroyOptions } from './commands/destroy.ts';
import type { DriftOptions } from './commands/drift.ts';
import type { PlanCommandOptions } from './commands/plan.ts';
import type { SimOptions } from './commands/sim.ts';
import type { VerifyOptions } from './commands/verify.ts';
import { addEnsure } from './ensure-commands.ts';
import { addDoctor, addPermissions } from './knowing-commands.ts';
import { addDemo, addImport, addInit, addOutput, addRuns, addState } from './more-commands.ts';
import { packageVersion } from './package-version.ts';
import {
  collect,
  globalOptions,
  onlyOption,
  type RunCommand,
  type StackOptions,
  stackOptions,
} from './stack-options.ts';

export function createProgram(run: RunCommand): Command {
  const program = new Command('proxwright')
    .description('Virtual machines on Proxmox VE: declared once, applied reliably, proven idempotent.')
    .version(packageVersion(), '-V, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('Run it with --help to see what it understands.')
    .addHelpText('after', GUIDE)
    .exitOverride();
  addInit(program, run);
  addValidate(program, run);
  addDoctor(program, run);
  addPermissions(program, run);
  addPlan(program, run);
  addApply(program, run);
  addVerify(program, run);
  addDrift(program, run);
  addDestroy(program, run);
  addEnsure(program, run);
  addOutput(program, run);
  addImport(program, run);
  addState(program, run);
  addRuns(program, run);
  addSim(program, run);
  addDemo(program, run);
  return program;
}

const GUIDE = `
A first round:
  proxwright demo              watch it work on a simulated cluster
  proxwright init              write a stack file to start from
  proxwright validate          is the file right?
  proxwright doctor            is the cluster ready for it, and what to type if not?
  proxwright plan              what would happen, and why?
  proxwright apply             do it; run it again to go on after a failure or Ctrl-C
  proxwright verify            is it still so?

Connection (unless the stack file says so):
  PROXMOX_VE_ENDPOINT          https://pve1.example.org:8006
  PROXMOX_VE_API_TOKEN         user@realm!id=secret
  PROXMOX_VE_FINGERPRINT       SHA-256 of the server's certificate, or PROXMOX_VE_CA_FILE

Exit codes: 0 done, 1 failed, 2 changes present (with --exit-code), 130 canceled.`;

function addValidate(program: Command, run: RunCommand): void {
  stackOptions(program.command('validate'))
    .description('check the stack file alone; all problems at once, with positions')
    .action(async (options: StackOptions) => {
      await run(options, async (host) => {
        const { runValidate } = await import('./commands/validate.ts');
        return runValidate(options, host);
      });
    });
}

function addPlan(program: Command, run: RunCommand): void {
  planningOptions(stackOptions(program.command('plan')))
    .description('show what apply would change and why; changes nothing')
    .option('--out <file>', 'also write the plan to a file, for apply')
    .option('--exit-code', 'end with 2 if there are changes')
    .addHelpText('after', PLAN_EXAMPLES)
    .action(async (options: PlanCommandOptions) => {
      await run(options, async (host) => {
        const { runPlan } = await import('./commands/plan.ts');
        return runPlan(options, host);
      });
    });
}

const PLAN_EXAMPLES = `
Examples:
  proxwright plan --only vm.worker[2]
  proxwright plan --out plan.json && proxwright apply plan.json
  proxwright plan --exit-code      0: nothing to do, 2: changes, 1: failed`;

function addApply(program: Command, run: RunCommand): void {
  evidenceOptions(planningOptions(stackOptions(program.command('apply'))), 'with --verify: ')
    .description('make it so, with live progress; goes on where an earlier run ended')
    .argument('[plan]', 'a plan written by plan --out; refused if anything changed since')
    .option('-y, --yes', 'do not ask')
    .option('--verify', 'pass the gate: validate, doctor, plan, apply, and a last plan, which must be empty')
    .addHelpText('after', EVIDENCE_EXAMPLES)
    .action(async (planFile: string | undefined, options: ApplyOptions) => {
      await run(options, async (host) => {
        const { runApply } = await import('./commands/apply.ts');
        return runApply(planFile, options, host);
      });
    });
}

function planningOptions(command: Command): Command {
  return onlyOption(command)
    .option('--allow-delete', 'delete VMs that left the file')
    .option('--allow-restart', 'restart VMs whose change needs it, although the file says never')
    .option('--replace <address>', 'destroy this VM and make it anew (repeatable)', collect);
}

/** `when` says under which condition they count. */
function evidenceOptions(command: Command, when = ''): Command {
  return command
    .option(
      '--evidence <file>',
      `${when}table to add a line to, and the .jsonl beside it (default: evidence.md beside the stack file)`,
    )
    .option('--no-evidence', `${when}keep none`)
    .option('--task <text>', `${when}what it was done for, in the evidence`)
    .option('--note <text>', `${when}a remark, in the evidence`);
}

const EVIDENCE_EXAMPLES = `
Examples:
  proxwright apply --verify --var-file prod.yaml --task P2-T5 --note 'first apply after the upgrade'
  proxwright apply --verify --evidence docs/evidence.md`;

function addVerify(program: Command, run: RunCommand): void {
  evidenceOptions(onlyOption(stackOptions(program.command('verify'))))
    .description('check that everything is still as the file says: validate, doctor, plan; changes nothing')
    .action(async (options: VerifyOptions) => {
      await run(options, async (host) => {
        const { runVerify } = await import('./commands/verify.ts');
        return runVerify(options, host);
      });
    });
}

function addDrift(program: Command, run: RunCommand): void {
  onlyOption(stackOptions(program.command('drift')))
    .description('show what others changed since the last apply')
    .option('--exit-code', 'end with 2 if there is drift')
    .action(async (options: DriftOptions) => {
      await run(options, async (host) => {
        const { runDrift } = await import('./commands/drift.ts');
        return runDrift(options, host);
      });
    });
}

function addDestroy(program: Command, run: RunCommand): void {
  onlyOption(stackOptions(program.command('destroy')))
    .description('destroy the VMs of this stack and their disks; asks first')
    .option('-y, --yes', 'do not ask')
    .option('--stop', 'stop running VMs hard instead of shutting them down')
    .option('--refuse-running', 'refuse to destroy VMs that run')
    .option('--all', 'also the templates it built and the images it brought')
    .action(async (options: DestroyOptions) => {
      await run(options, async (host) => {
        const { runDestroy } = await import('./commands/destroy.ts');
        return runDestroy(options, host);
      });
    });
}

function addSim(program: Command, run: RunCommand): void {
  globalOptions(program.command('sim'))
    .description('serve a simulated Proxmox VE cluster over HTTPS')
    .option('--listen <address:port>', 'where to listen; port 0 picks a free one', '127.0.0.1:8006')
    .option('--world <file>', 'world file, or "default", "bare", "bare-cluster" or "recorded"', 'default')
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
