/**
 * Finds and reads the file of a stack with its variables, and resolves it. Commands that need no state load only this.
 */
import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { parseDuration } from '../../base/values/units.ts';
import { secretsIn } from '../../local/environment.ts';
import { readTextFile } from '../../local/text-file.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../spec/index.ts';
import type { CommandDeps, StackOptions } from '../command.ts';

const DEFAULT_FILES = ['stack.yaml', 'stack.yml', 'stack.json'];
const VARIABLE_FILES = ['variables.yaml', 'variables.yml', 'variables.json'];

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

/** The one next to the stack file, which is read automatically, then those of --var-file. */
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

/** A name for a stack that has none yet: that of its directory, as far as a name allows. */
export function stackNameOf(directory: string): string {
  const plain = directory
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 63);
  return plain === '' ? 'adopted' : plain;
}
