/** Opens the stack that a command works on: finds and reads its file, resolves it, and locates its state. */
import { access } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { shellWord } from '../../base/text/shell.ts';
import { parseDuration } from '../../base/values/units.ts';
import { secretsIn } from '../../local/environment.ts';
import { openStateStore, type StoreDeps } from '../../local/state-store.ts';
import { readTextFile } from '../../local/text-file.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../spec/index.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import { movedTo, STATE_FILE } from '../../state/state-file.ts';
import type { StateStore } from '../../state/store.ts';
import { AlreadyShown, type CommandDeps, type StackOptions } from '../command.ts';
import { showProblems } from '../views/view.ts';

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

const DEFAULT_FILES = ['stack.yaml', 'stack.yml', 'stack.json'];
const VARIABLE_FILES = ['variables.yaml', 'variables.yml', 'variables.json'];
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
  { environment, clock, random, secrets }: CommandDeps,
): StoreDeps {
  const local = new DirectoryStore(stateDirectory);
  return { environment, directory, stackName: stack.name, clock, random, secrets, local };
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

export interface ReadStack {
  readonly file: string;
  /** The files that values of variables were read from, as messages name them; a later one wins. */
  readonly variableFiles: readonly string[];
  readonly lockTimeoutMs: number;
  /** Absent if there are errors. */
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
}

/** `edit` changes the text after it was read; the file itself stays as it is. */
export async function readStack(
  options: StackOptions,
  deps: CommandDeps,
  edit: (text: string, file: string) => string = (text) => text,
): Promise<ReadStack> {
  deps.secrets.add(...secretsIn(deps.environment));
  const file = options.file ?? (await requireStackFile(deps.directory));
  const read = (name: string, what: string, option: string) =>
    readTextFile(resolve(deps.directory, name), what, `Name another one: ${option} FILE`, name);
  const text = await read(file, 'a stack file', '--file');
  const variableFiles = await variableFilesOf(options, file, deps.directory);
  const files = await Promise.all(
    variableFiles.map(async (name) => ({ name, text: await read(name, 'a variable file', '--var-file') })),
  );
  const loaded = loadStack(edit(text, file), file);
  const settings = options.var ?? [];
  const { secrets, ...resolution } = resolveStack(loaded, { settings, files, environment: deps.environment });
  deps.secrets.add(...secrets);
  return { file, variableFiles, lockTimeoutMs: lockTimeoutOf(options), ...resolution };
}

function lockTimeoutOf({ lockTimeout }: StackOptions): number {
  const ms = lockTimeout === undefined ? 0 : parseDuration(lockTimeout);
  if (ms !== undefined) return ms;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `--lock-timeout ${lockTimeout} is not a time.`,
    hint: 'Write a number and a unit: 30s, 5m, 1h.',
  });
}

/** The one beside the stack file, which is read without being asked for, then those of --var-file. */
export async function variableFilesOf(options: StackOptions, stackFile: string, directory: string): Promise<string[]> {
  const given = options.varFile ?? [];
  const named = new Set(given.map((name) => resolve(directory, name)));
  const beside = VARIABLE_FILES.map((name) => join(dirname(stackFile), name));
  const found = await firstExisting(beside, directory);
  return found === undefined || named.has(resolve(directory, found)) ? [...given] : [found, ...given];
}

/** The stack file of a directory, if it has one. */
export function findStackFile(directory: string): Promise<string | undefined> {
  return firstExisting(DEFAULT_FILES, directory);
}

async function requireStackFile(directory: string): Promise<string> {
  const found = await findStackFile(directory);
  if (found !== undefined) return found;
  throw new ProxwrightError({
    code: 'UNREADABLE_FILE',
    where: { file: directory },
    detail: `This directory contains none of ${DEFAULT_FILES.join(', ')}.`,
    hint: advice`Name the file: --file FILE. Or create one: ${command('init')}`,
  });
}

async function firstExisting(names: readonly string[], directory: string): Promise<string | undefined> {
  for (const name of names) {
    const exists = await access(resolve(directory, name)).then(
      () => true,
      () => false,
    );
    if (exists) return name;
  }
  return undefined;
}
