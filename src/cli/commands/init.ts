/** `proxwright init`: copies an example to start from, the schema that editors check it with, and a `.gitignore`. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { stackJsonSchema } from '../../spec/index.ts';
import type { CommandDeps, ExitCode, GlobalOptions } from '../command.ts';
import { readExample } from '../examples.ts';
import { initView } from '../views/init.ts';
import { unwritable } from '../write-file.ts';

export interface InitOptions extends GlobalOptions {
  readonly example: string;
  readonly force?: boolean;
  /** Write only the schema, which is generated and may always be overwritten. */
  readonly schema?: boolean;
}

const SCHEMA_FILE = 'stack.schema.json';
const IGNORE_FILE = '.gitignore';
const STATE_FOLDER = '.proxwright/';

export async function runInit(options: InitOptions, deps: CommandDeps): Promise<ExitCode> {
  const written: string[] = [];
  const example = options.schema ? undefined : await readExample(options.example);
  if (example) {
    if (!options.force) await refuseExisting(deps, example.files.keys());
    for (const [name, text] of example.files) await write(deps, name, text);
    written.push(...example.files.keys());
  }
  await writeSchema(deps);
  written.push(SCHEMA_FILE);
  if (example && (await ignore(deps, [STATE_FOLDER, ...(example.secrets ?? [])]))) written.push(IGNORE_FILE);
  initView(deps).written(written, example);
  return 0;
}

async function writeSchema(deps: CommandDeps): Promise<void> {
  await write(deps, SCHEMA_FILE, `${JSON.stringify(stackJsonSchema(), undefined, 2)}\n`);
}

/** The files next to every stack file: the schema that editors check it with, and a `.gitignore`. */
export async function writeCompanions(deps: CommandDeps): Promise<void> {
  await writeSchema(deps);
  await ignore(deps, [STATE_FOLDER]);
}

/** State, journals and secrets do not belong in a repository. Lines that exist stay. */
async function ignore(deps: CommandDeps, lines: readonly string[]): Promise<boolean> {
  const before = await readFile(join(deps.directory, IGNORE_FILE), 'utf8').catch(() => '');
  const known = before.split(/\r?\n/).map((line) => line.trim().replace(/\/$/, ''));
  const missing = lines.filter((line) => !known.includes(line.replace(/\/$/, '')));
  if (missing.length === 0) return false;
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  await write(deps, IGNORE_FILE, `${before}${separator}${missing.map((line) => `${line}\n`).join('')}`);
  return true;
}

/** Checks all of them before the first is written: half an example is worse than none. */
async function refuseExisting(deps: CommandDeps, names: Iterable<string>): Promise<void> {
  for (const name of names) {
    const exists = await access(join(deps.directory, name)).then(
      () => true,
      () => false,
    );
    if (!exists) continue;
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file: name },
      detail: `${name} already exists; it was not changed.`,
      hint: advice`Use another directory, or overwrite it: ${command('init', '--force')}. To write only the schema: ${command('init', '--schema')}`,
    });
  }
}

async function write(deps: CommandDeps, name: string, text: string): Promise<void> {
  try {
    await writeFile(join(deps.directory, name), text);
  } catch (error) {
    throw unwritable(name, error);
  }
}
