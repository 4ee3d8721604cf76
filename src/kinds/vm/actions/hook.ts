/**
 * `vm.hook`: runs a program of this machine before a VM becomes unavailable, or after it is ready again. The journal
 * records the start before the program starts and the end after it ended, so a later run knows what it must not repeat.
 */
import { isCanceled, ProxwrightError } from '../../../base/errors.ts';
import type { ProgramEnd } from '../../../base/processes.ts';
import { visibleText } from '../../../base/text/safe-text.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { printDuration, upTo } from '../../../base/values/units.ts';
import type { HookStatus } from '../../outage.ts';
import { type HookName, hookNamesIn, withHookValues } from '../fields/lifecycle.ts';
import { managedNic } from '../ready/checks.ts';
import type { HookInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { besideReplaced } from './life/replaced.ts';
import { knownVm } from './safety/look.ts';

export const runHook: VmAction<HookInput> = async (context, input) => {
  const { moment, group, timeoutMs } = input;
  const record = (status: HookStatus, output?: string) => context.hook({ moment, group, status, output });
  if (input.countsAsDone) return record('done', 'It counts as done, because you said so.');
  const values = {
    ...valuesOf(input.ofReplaced ? besideReplaced(context) : context, input),
    resource: context.address,
  };
  const run = commandOf(context, input, values);
  const tail = new Tail();
  await record('started');
  context.log.log('info', `${context.address}: ${moment}: ${run.map(shellWord).join(' ')}`);
  context.progress(upTo(moment, timeoutMs));
  let end: ProgramEnd;
  try {
    end = await context.processes.run({
      command: run,
      environment: environmentOf(context, input, values),
      timeoutMs,
      signal: context.signal,
      onLine: (line) => {
        const text = visibleText(context.pve.secrets.redact(line));
        if (tail.add(text)) context.log.log('info', `${context.address}: ${moment}: ${text}`);
      },
    });
  } catch (error) {
    // It was stopped on request, so its end is known.
    if (isCanceled(error) || context.signal.aborted) await record('failed', tail.text);
    throw error;
  }
  const isDone = end.kind === 'exited' && end.code === 0;
  await record(isDone ? 'done' : 'failed', tail.text);
  if (!isDone) throw failed(context, input, run, end, tail.text);
};

type Values = Readonly<Record<HookName, string | undefined>>;

function valuesOf(context: VmContext, { group, nics }: HookInput): Omit<Values, 'resource'> {
  const { name, vmid, node, macs, addresses } = knownVm(context);
  const [address] = addresses[managedNic({ nics }, Object.keys(macs)) ?? ''] ?? [];
  return { name, address, vmid: String(vmid), node, group: group.replace(/^vm\./, '') };
}

/** Refused before it starts if it needs an unknown value: an argument with a gap could mean something else. */
function commandOf(context: VmContext, { moment, run }: HookInput, values: Values): string[] {
  const missing = [...hookNamesIn(run)].filter((name) => values[name] === undefined);
  if (missing.length === 0) return run.map((argument) => withHookValues(argument, (name) => values[name]));
  throw new ProxwrightError({
    code: 'HOOK_FAILED',
    where: { address: context.address, field: `hooks.${moment}` },
    detail: `The hook ${moment} was not started: it uses ${missing.map((name) => `\${${name}}`).join(', ')}, and no address of ${context.address} is known.`,
    hint: `Give the VM a static address or a guest agent, use \${name} instead, or add --no-hooks to leave the hooks out.`,
  });
}

function environmentOf(context: VmContext, { moment, change }: HookInput, values: Values): Record<string, string> {
  const own = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[`PROXWRIGHT_VM_${name.toUpperCase()}`, value] as const],
  );
  return {
    ...Object.fromEntries(own),
    PROXWRIGHT_VM_CHANGE: change,
    PROXWRIGHT_HOOK: moment,
    PROXWRIGHT_STACK: context.stack,
  };
}

function failed(
  context: VmContext,
  { moment, timeoutMs }: HookInput,
  run: readonly string[],
  end: ProgramEnd,
  output: string,
): ProxwrightError {
  const how = {
    exited: () => `exited with ${end.kind === 'exited' ? end.code : ''}`,
    killed: () => `was ended by ${end.kind === 'killed' ? end.signal : ''}`,
    'timed-out': () => `did not end within ${printDuration(timeoutMs)} and was stopped`,
    'not-started': () => `could not be started: ${end.kind === 'not-started' ? end.reason : ''}`,
  }[end.kind]();
  const state =
    moment === 'before_stop'
      ? 'The VM was not taken down.'
      : 'The VM is ready, and counts as unavailable until it succeeds.';
  return new ProxwrightError({
    code: 'HOOK_FAILED',
    where: { address: context.address, field: `hooks.${moment}` },
    detail: [
      `The hook ${moment} ${how}: ${run.map(shellWord).join(' ')}`,
      ...(output === '' ? [] : [output.replaceAll(/^/gm, '  ')]),
      state,
    ].join('\n'),
    // The command may also be a drain or a rollback, and the end of the run names it.
    hint: 'Remove the cause, then continue with the command that this run names at its end: it runs the hook again. To continue without hooks, add --no-hooks.',
  });
}

/** A program that prints without end fills neither the log nor the journal. */
const LOGGED_LINES = 200;
const KEPT_LINES = 20;
const KEPT_CHARACTERS = 500;

/** The last lines of an output. */
class Tail {
  #lines: string[] = [];
  #count = 0;

  /** Whether the line belongs into the log. */
  add(line: string): boolean {
    this.#count++;
    const short = line.length > KEPT_CHARACTERS ? `${line.slice(0, KEPT_CHARACTERS)}…` : line;
    this.#lines = [...this.#lines, short].slice(-KEPT_LINES);
    return this.#count <= LOGGED_LINES;
  }

  get text(): string {
    return this.#lines.join('\n');
  }
}
