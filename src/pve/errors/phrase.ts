/** What an entry of the table of phrases looks like, and how the beginning of a text is compared. */
import type { ErrorCode, Subject } from '../../base/errors.ts';
import type { Hint } from '../../base/hint.ts';

export interface Phrase {
  readonly code: ErrorCode;
  /** What is absent. */
  readonly subject?: Subject;
  readonly pattern: RegExp;
  /** A text that the server really sends. */
  readonly sample: string;
  /** Package and place of the emitter. */
  readonly source: string;
  readonly hint?: Hint | string;
  /** Also recognised in the last lines of a failed task's log, where its exit status says nothing. */
  readonly inLog?: true;
}

/** What the server puts in front of an inner error, sometimes several times; a task also prefixes the HTTP status. */
const PREFIXES = [
  String.raw`[45]\d\d `,
  'clone failed: ',
  'start failed: ',
  'storage migration failed: ',
  String.raw`unable to create VM \d+ - `,
  String.raw`failed to update VM \d+: `,
  String.raw`unable to apply pending change \S+ : `,
  'hotplug problem - ',
  String.raw`can't add VM \d+ to pool '[^']*': `,
  String.raw`access permissions cleanup for VM \d+ failed: `,
  '(?:create|delete|update) (?:pools?|user|role|hardware mapping|resource|resources config) failed: ',
  '(?:ide|sata|scsi|virtio)\\d+ - ',
  'import failed: ',
].join('|');

/** `body` at the beginning of the text, or behind nothing but known prefixes. */
export const exact = (body: string) => new RegExp(`^(?:${PREFIXES})*(?:${body})`);
