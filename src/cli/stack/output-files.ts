/**
 * Writes the output files of a stack where it asks for them. They hold no secret and are made for others to read, so their
 * mode is the usual one; whoever wants less says so by umask. Each is replaced as a whole: a reader sees the old text or the
 * new one, never half of it.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type OutputFile, outputFiles } from '../../engine/outputs/files.ts';
import type { StackOutputs } from '../../engine/outputs/outputs.ts';
import { unwritable } from '../write-file.ts';
import type { OpenedStack } from './open.ts';

const DATA_MODE = 0o644;
const SCRIPT_MODE = 0o755;

/** The names of the files, as messages show them; none where the stack wants none. */
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
  // The number keeps two processes apart; one that died leaves a file that its successor of that number replaces.
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
