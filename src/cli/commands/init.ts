/** `proxwright init`: a commented stack file to start from, the schema that editors check it by, and a `.gitignore`. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closest } from '../../base/closest.ts';
import { SpecError } from '../../base/errors.ts';
import { stackJsonSchema } from '../../spec/index.ts';
import type { CommandHost, ExitCode, GlobalOptions } from '../command-host.ts';
import { EXAMPLES } from '../examples/index.ts';
import { unwritable } from '../written-file.ts';

export interface InitOptions extends GlobalOptions {
  readonly example: string;
  readonly force?: boolean;
  /** Only the schema, which is ours to replace. */
  readonly schema?: boolean;
}

const STACK_FILE = 'stack.yaml';
const SCHEMA_FILE = 'stack.schema.json';
const IGNORE_FILE = '.gitignore';
const IGNORED = '.proxwright/';

export async function runInit(options: InitOptions, host: CommandHost): Promise<ExitCode> {
  const written: string[] = [];
  if (!options.schema) {
    await write(host, STACK_FILE, exampleNamed(options.example), options.force ? 'w' : 'wx');
    written.push(STACK_FILE);
  }
  await write(host, SCHEMA_FILE, `${JSON.stringify(stackJsonSchema(), undefined, 2)}\n`, 'w');
  written.push(SCHEMA_FILE);
  if (!options.schema && (await ignoreState(host))) written.push(IGNORE_FILE);
  if (host.json) {
    host.terminal.result(JSON.stringify({ written }));
    return 0;
  }
  host.terminal.success(`Wrote ${written.join(', ')}.`);
  if (!options.schema) {
    host.terminal.log('info', `Next: look through ${STACK_FILE}, then proxwright validate and proxwright plan.`);
    // Whether a guest of the simulator listens on a port nobody can find out from here.
    const how = options.example === 'talos' ? 'with ready: { tcp: [] }' : 'as it is';
    host.terminal.log('info', `No Proxmox at hand? proxwright sim serves a simulated one on which it runs ${how}.`);
  }
  return 0;
}

function exampleNamed(name: string): string {
  const text = EXAMPLES[name];
  if (text !== undefined) return text;
  const known = Object.keys(EXAMPLES);
  const guess = closest(name, known);
  throw new SpecError({
    code: 'BAD_VALUE',
    where: { file: '--example' },
    detail: `There is no example "${name}".`,
    hint: guess ? `Did you mean "${guess}"?` : `There are ${known.join(', ')}.`,
  });
}

/** State and journals are no business of a repository. What stands in the file stays. */
async function ignoreState(host: CommandHost): Promise<boolean> {
  const before = await readFile(join(host.directory, IGNORE_FILE), 'utf8').catch(() => '');
  if (before.split(/\r?\n/).some((line) => line.trim().replace(/\/$/, '') === IGNORED.replace(/\/$/, ''))) return false;
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  await write(host, IGNORE_FILE, `${before}${separator}${IGNORED}\n`, 'w');
  return true;
}

async function write(host: CommandHost, name: string, text: string, flag: 'w' | 'wx'): Promise<void> {
  try {
    await writeFile(join(host.directory, name), text, { flag });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new SpecError({
        code: 'BAD_VALUE',
        where: { file: name },
        detail: `There is a ${name} already; it was not touched.`,
        hint: 'Go to another directory, or replace it: proxwright init --force. For a new schema alone: proxwright init --schema',
      });
    }
    throw unwritable(name, error);
  }
}
