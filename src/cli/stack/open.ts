/** Opens the stack that a command works on: finds and reads its file, resolves it, and locates its state. */
import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { readTextFile } from '../../local/text-file.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../spec/index.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import type { StateStore } from '../../state/store.ts';
import { AlreadyShown, type CommandDeps, type StackOptions } from '../command.ts';

export interface OpenedStack {
  readonly stack: ResolvedStack;
  /** As messages name it. */
  readonly file: string;
  /** Relative paths in the file start here. */
  readonly directory: string;
  readonly store: StateStore;
  readonly stateDirectory: string;
  /** About the file; they have been shown. */
  readonly warnings: readonly Diagnostic[];
}

const DEFAULT_FILES = ['stack.yaml', 'stack.yml', 'stack.json'];
const STATE_FOLDER = '.proxwright';

/** Prints every problem of the file before it ends the command. */
export async function openStack(options: StackOptions, deps: CommandDeps): Promise<OpenedStack> {
  return openReadStack(await readStack(options, deps), deps);
}

/** Opens a stack whose file has been read. */
export function openReadStack({ file, stack, diagnostics }: ReadStack, deps: CommandDeps): OpenedStack {
  for (const diagnostic of diagnostics) deps.terminal.diagnostic(diagnostic);
  if (!stack) throw new AlreadyShown();
  const directory = dirname(resolve(deps.directory, file));
  const stateDirectory = join(directory, STATE_FOLDER, stack.name);
  return { stack, file, directory, store: new DirectoryStore(stateDirectory), stateDirectory, warnings: diagnostics };
}

export interface ReadStack {
  readonly file: string;
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
  const file = options.file ?? (await findStackFile(deps.directory));
  const read = (name: string, what: string, option: string) =>
    readTextFile(resolve(deps.directory, name), what, `Name another one: ${option} FILE`, name);
  const text = await read(file, 'a stack file', '--file');
  const files = await Promise.all(
    (options.varFile ?? []).map(async (name) => ({ name, text: await read(name, 'a variable file', '--var-file') })),
  );
  const loaded = loadStack(edit(text, file), file);
  const settings = options.var ?? [];
  return { file, ...resolveStack(loaded, { settings, files, environment: deps.environment }) };
}

async function findStackFile(directory: string): Promise<string> {
  for (const name of DEFAULT_FILES) {
    const exists = await access(join(directory, name)).then(
      () => true,
      () => false,
    );
    if (exists) return name;
  }
  throw new ProxwrightError({
    code: 'UNREADABLE_FILE',
    where: { file: directory },
    detail: `This directory contains none of ${DEFAULT_FILES.join(', ')}.`,
    hint: advice`Name the file: --file FILE. Or create one: ${command('init')}`,
  });
}
