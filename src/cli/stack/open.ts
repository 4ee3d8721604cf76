/** Opens the stack that a command works on: reads its file, and locates its state. */
import { dirname, join, relative, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { shellWord } from '../../base/text/shell.ts';
import { openStateStore, type StoreDeps } from '../../local/state-store.ts';
import type { ResolvedStack } from '../../spec/index.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import { movedTo, STATE_FILE } from '../../state/state-file.ts';
import type { StateStore } from '../../state/store.ts';
import { AlreadyShown, type CommandDeps, type StackOptions } from '../command.ts';
import { showProblems } from '../views/view.ts';
import { type ReadStack, readStack } from './read.ts';

export interface OpenedStack {
  readonly stack: ResolvedStack;
  /** As messages name it. */
  readonly file: string;
  /** Relative paths in the file start here. */
  readonly directory: string;
  readonly store: StateStore;
  readonly stateDirectory: string;
  /** How long to wait for another run that holds the lock. */
  readonly lockTimeoutMs?: number;
  /** About the file; they have been shown. */
  readonly warnings: readonly Diagnostic[];
}

const STATE_FOLDER = '.proxwright';

/** Prints every problem of the file before it ends the command. */
export async function openStack(options: StackOptions, deps: CommandDeps): Promise<OpenedStack> {
  return openReadStack(await readStack(options, deps), deps);
}

/** Opens a stack whose file has been read. */
export async function openReadStack(read: ReadStack, deps: CommandDeps): Promise<OpenedStack> {
  const { file, stack, diagnostics, variableFiles, lockTimeoutMs } = read;
  if (variableFiles.length > 0) deps.terminal.log('info', `Variables from ${variableFiles.join(', ')}.`);
  showProblems(diagnostics, deps);
  if (!stack) throw new AlreadyShown();
  const directory = dirname(resolve(deps.directory, file));
  const stateDirectory = join(directory, STATE_FOLDER, stack.name);
  const needed = storeDeps({ stack, directory, stateDirectory }, deps);
  const { local } = needed;
  await warnIfOpen(local, deps);
  const store = await openStateStore(stack.state, needed);
  if (store !== local) await assertMovedFrom(local, store, stack.name);
  return { stack, file, directory, store, stateDirectory, lockTimeoutMs, warnings: diagnostics };
}

/** What is needed to open a store for the stack. */
export function storeDeps(
  { stack, directory, stateDirectory }: Pick<OpenedStack, 'stack' | 'directory' | 'stateDirectory'>,
  { environment, clock, random, secrets, terminal }: CommandDeps,
): StoreDeps {
  const local = new DirectoryStore(stateDirectory);
  const tell = (text: string) => terminal.log('info', text);
  return { environment, directory, stackName: stack.name, clock, random, secrets, local, tell };
}

/** A shared store that was named before the state was copied there would make every VM a new one. */
async function assertMovedFrom(local: DirectoryStore, store: StateStore, stackName: string): Promise<void> {
  const left = await local.read(STATE_FILE);
  if (left === undefined || movedTo(left) !== undefined || (await store.read(STATE_FILE)) !== undefined) return;
  throw new ProxwrightError({
    code: 'STATE_LOST',
    where: { file: local.placeOf(STATE_FILE) },
    detail: `The state of ${stackName} is still in this directory, and the store that the stack names has none.`,
    hint: advice`Take "state" out of the file (or PROXWRIGHT_STATE out of the environment) and run ${command('state migrate', '--to', 'ADDRESS')}. It copies the state and says what to write.`,
  });
}

/** Some commands open the stack twice. */
const warned = new WeakSet<CommandDeps['terminal']>();

/** New directories are private; one that was made or copied by other means may not be. */
async function warnIfOpen(store: DirectoryStore, { terminal, directory }: CommandDeps): Promise<void> {
  const mode = await store.openMode();
  if (mode === undefined || warned.has(terminal)) return;
  warned.add(terminal);
  const path = shellWord(relative(directory, store.directory));
  terminal.log(
    'warn',
    `Other users of this machine can open the state directory (mode ${mode}). To close it: chmod -R go= ${path}`,
  );
}
