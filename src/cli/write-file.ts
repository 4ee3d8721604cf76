/** Writes private files, and reports a failure in the operating system's words. */
import { open } from 'node:fs/promises';
import { ProxwrightError } from '../base/errors.ts';

const PRIVATE = 0o600;

/** `shown` is the name in messages. */
export async function writePrivateFile(path: string, text: string, shown: string): Promise<void> {
  try {
    const file = await open(path, 'w', PRIVATE);
    try {
      // An existing file would keep its mode. A device keeps it.
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
): ProxwrightError {
  return new ProxwrightError({
    code: 'UNWRITABLE_FILE',
    where: { file: shown },
    detail: `The operating system says: "${error instanceof Error ? error.message : String(error)}".`,
    hint,
    cause: error,
  });
}
