/** Writing files for commands: privately, and with the words of the operating system where that fails. */
import { open } from 'node:fs/promises';
import { SpecError } from '../base/errors.ts';

const PRIVATE = 0o600;

/** `shown` is the name in messages. */
export async function writePrivateFile(path: string, text: string, shown: string): Promise<void> {
  try {
    const file = await open(path, 'w', PRIVATE);
    try {
      // A file that was there keeps its mode otherwise; a device is left alone.
      if ((await file.stat()).isFile()) await file.chmod(PRIVATE);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unwritable(shown, error);
  }
}

export function unwritable(
  shown: string,
  error: unknown,
  hint = 'Check that the directory exists, belongs to you and has free space.',
): SpecError {
  return new SpecError({
    code: 'UNWRITABLE_FILE',
    where: { file: shown },
    detail: `The operating system says: "${error instanceof Error ? error.message : String(error)}".`,
    hint,
    cause: error,
  });
}
