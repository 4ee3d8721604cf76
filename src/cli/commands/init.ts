/** `proxwright init`: a commented stack file to start from, the schema that editors check it by, and a `.gitignore`. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closest } from '../../base/closest.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { stackJsonSchema } from '../../spec/index.ts';
import type { CommandHost, ExitCode, GlobalOptions } from '../command-host.ts';
import type { Example } from '../examples/example.ts';
import { EXAMPLES, OTHER_NAMES } from '../examples/index.ts';
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
const STATE_FOLDER = '.proxwright/';

export async function runInit(options: InitOptions, host: CommandHost): Promise<ExitCode> {
  const written: string[] = [];
  const example = options.schema ? undefined : exampleNamed(options.example);
  if (example) {
    const names = Object.keys(example.files);
    if (!options.force) await refusePresent(host, names);
    for (const name of names) await write(host, name, example.files[name] ?? '');
    written.push(...names);
  }
  await write(host, SCHEMA_FILE, `${JSON.stringify(stackJsonSchema(), undefined, 2)}\n`);
  written.push(SCHEMA_FILE);
  if (example && (await ignore(host, [STATE_FOLDER, ...(example.secrets ?? [])]))) written.push(IGNORE_FILE);
  if (host.json) {
    host.terminal.result(JSON.stringify({ written }));
    return 0;
  }
  host.terminal.success(`Wrote ${written.join(', ')}.`);
  if (example) for (const line of nextSteps(example)) host.terminal.log('info', line);
  return 0;
}

function nextSteps({ files, world, secrets = [] }: Example): string[] {
  const sim = world === 'default' ? 'proxwright sim' : `proxwright sim --world ${world}`;
  // Whether a guest of the simulator listens on a port nobody can find out from here.
  const how = files['stack.yaml'].includes('  ready_ports:') ? "with --var 'ready_ports=[]'" : 'as it is';
  const made = secrets.filter((name) => files['stack.yaml'].includes(`{ file: ./${name} }`));
  return [
    ...made.map((name) => `It wants a file that only you can make, ${name}: stack.yaml says what it is.`),
    `Next: look through ${STACK_FILE}, then proxwright validate and proxwright plan.`,
    `No Proxmox at hand? ${sim} serves a simulated one on which it runs ${how}.`,
  ];
}

function exampleNamed(name: string): Example {
  const example = EXAMPLES[OTHER_NAMES[name] ?? name];
  if (example !== undefined) return example;
  const known = Object.keys(EXAMPLES);
  const guess = closest(name, [...known, ...Object.keys(OTHER_NAMES)]);
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: '--example' },
    detail: `There is no example "${name}".`,
    hint: guess ? `Did you mean "${guess}"?` : `There are ${known.join(', ')}.`,
  });
}

/** State and journals are no business of a repository, secrets even less. What stands in the file stays. */
async function ignore(host: CommandHost, wanted: readonly string[]): Promise<boolean> {
  const before = await readFile(join(host.directory, IGNORE_FILE), 'utf8').catch(() => '');
  const known = before.split(/\r?\n/).map((line) => line.trim().replace(/\/$/, ''));
  const missing = wanted.filter((line) => !known.includes(line.replace(/\/$/, '')));
  if (missing.length === 0) return false;
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  await write(host, IGNORE_FILE, `${before}${separator}${missing.map((line) => `${line}\n`).join('')}`);
  return true;
}

/** All of them before the first is written: half an example is worse than none. */
async function refusePresent(host: CommandHost, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const isThere = await access(join(host.directory, name)).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file: name },
      detail: `There is a ${name} already; it was not touched.`,
      hint: advice`Go to another directory, or replace it: ${command('init', '--force')}. For a new schema alone: ${command('init', '--schema')}`,
    });
  }
}

async function write(host: CommandHost, name: string, text: string): Promise<void> {
  try {
    await writeFile(join(host.directory, name), text);
  } catch (error) {
    throw unwritable(name, error);
  }
}
