/** Opens the stack that a command works on: finds and reads its file, resolves it, and knows where its state lives. */
import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import { readTextFile } from '../local/text-file.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../spec/index.ts';
import { DirectoryStore } from '../state/directory-store.ts';
import { AlreadyShown, type CommandHost } from './command-host.ts';
import type { StackHost } from './opened-stack.ts';
import type { StackOptions } from './stack-options.ts';

const DEFAULT_FILES = ['stack.yaml', 'stack.yml', 'stack.json'];
const STATE_FOLDER = '.proxwright';

/** Everything wrong with the file is printed at once; then the command ends. */
export async function openStack(options: StackOptions, host: CommandHost): Promise<StackHost> {
  return openReadStack(await readStack(options, host), host);
}

/** The same for a file that has been read. */
export function openReadStack({ file, stack, diagnostics }: ReadStack, host: CommandHost): StackHost {
  for (const diagnostic of diagnostics) host.terminal.diagnostic(diagnostic);
  if (!stack) throw new AlreadyShown();
  const directory = dirname(resolve(host.directory, file));
  const stateDirectory = join(directory, STATE_FOLDER, stack.name);
  return { stack, file, directory, store: new DirectoryStore(stateDirectory), stateDirectory, warnings: diagnostics };
}

export interface ReadStack {
  readonly file: string;
  /** Absent where there are errors. */
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
}

/** `edit` changes the text before it is read; what stands in the file stays. */
export async function readStack(
  options: StackOptions,
  host: CommandHost,
  edit: (text: string, file: string) => string = (text) => text,
): Promise<ReadStack> {
  const file = options.file ?? (await findStackFile(host.directory));
  const text = await readTextFile(resolve(host.directory, file), 'a stack file', 'Name another one: --file FILE', file);
  const files = await Promise.all(
    (options.varFile ?? []).map(async (name) => ({
      name,
      text: await readTextFile(
        resolve(host.directory, name),
        'a variable file',
        'Name another one: --var-file FILE',
        name,
      ),
    })),
  );
  const loaded = loadStack(edit(text, file), file);
  const settings = options.var ?? [];
  return { file, ...resolveStack(loaded, { settings, files, environment: host.environment }) };
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
    detail: `There is none of ${DEFAULT_FILES.join(', ')} in this directory.`,
    hint: advice`Name the file: --file FILE. Or write a first one: ${command('init')}`,
  });
}
