/** Writes the output files of a stack where it asks for them. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { outputFiles } from '../engine/outputs/files.ts';
import type { StackOutputs } from '../engine/outputs/outputs.ts';
import type { StackHost } from './opened-stack.ts';
import { unwritable, writePrivateFile } from './written-file.ts';

/** The names of the files, as messages show them; none where the stack wants none. */
export async function writeOutputFiles(
  { stack, directory }: Pick<StackHost, 'stack' | 'directory'>,
  outputs: StackOutputs,
): Promise<string[]> {
  const folder = stack.outputs.files;
  if (folder === undefined) return [];
  const target = resolve(directory, folder);
  await mkdir(target, { recursive: true }).catch((error: unknown) => {
    throw unwritable(folder, error, 'Choose another directory as outputs.files.');
  });
  const files = outputFiles(outputs);
  for (const { name, text } of files) await writePrivateFile(join(target, name), text, join(folder, name));
  return files.map(({ name }) => join(folder, name));
}
