/**
 * Writes the output files of a stack. They contain no secrets and are meant for other programs, so they get the usual mode,
 * which the umask can restrict. Each is replaced atomically: a reader sees the old text or the new one, never a part.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StackOutputs } from '../../engine/outputs/outputs.ts';
import { type OutputFile, outputFiles } from '../../engine/outputs/render.ts';
import { unwritable } from '../write-file.ts';
import type { OpenedStack } from './open.ts';

const DATA_MODE = 0o644;
const SCRIPT_MODE = 0o755;

/** Returns the names of the files, for messages; none if the stack asks for none. */
export async function writeOutputFiles(
  { stack, directory }: Pick<OpenedStack, 'stack' | 'directory'>,
  outputs: StackOutputs,
): Promise<string[]> {
  const folder = stack.outputs.files;
  if (folder === undefined) return [];
  const target = resolve(directory, folder);
  await mkdir(target, { recursive: true }).catch((error: unknown) => {
    throw unwritable(folder, error, 'Choose another directory as outputs.files.');
  });
  const files = outputFiles(outputs);
  for (const file of files) {
    await replaceFile(target, file).catch((error: unknown) => {
      throw unwritable(join(folder, file.name), error);
    });
  }
  return files.map(({ name }) => join(folder, name));
}

async function replaceFile(folder: string, { name, text, isScript }: OutputFile): Promise<void> {
  // The process id keeps two processes apart. A file left by a dead process is replaced when its id is reused.
  const temporary = join(folder, `.${name}.${process.pid}`);
  try {
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', isScript ? SCRIPT_MODE : DATA_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}
