/** The text of a Perl exception inside another text. */
import { ApiFault } from '../http/response.ts';

/**
 * Rule [source PC Exception.pm stringify]: inside a longer text a refusal shows its status code in front and its complaints
 * behind; a plain die is its text. The final line feed is left to the caller.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiFault)) return error instanceof Error ? error.message.trimEnd() : String(error);
  const head = error.status === 500 ? error.message : `${error.status} ${error.message}`;
  const complaints = Object.entries(error.errors ?? {}).map(([key, text]) => `${key}: ${text}\n`);
  return `${head.endsWith('\n') ? head : `${head}\n`}${complaints.join('')}`.replace(/\n$/, '');
}
