/** An entry of the table of phrases, and how it matches the start of a message. */
import type { ErrorCode, Subject } from '../../base/errors.ts';
import type { Hint } from '../../base/hint.ts';

export interface Phrase {
  readonly code: ErrorCode;
  /** What is absent. */
  readonly subject?: Subject;
  readonly pattern: RegExp;
  /** A message that the server really sends. */
  readonly sample: string;
  /** Package and place of the emitter. */
  readonly source: string;
  readonly hint?: Hint | string;
  /** Also recognised in the last lines of the log of a failed task, if its exit status says nothing. */
  readonly inLog?: true;
  /** It passes by itself: a read that fails so is repeated. */
  readonly passes?: true;
}

/** Prefixes that the server adds to an inner error, sometimes several; a task also adds the HTTP status. */
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
  '(?:create|delete|update) (?:pools?|user|role|hardware mapping|resource|resources config|ha rule|HA rules) failed: ',
  '(?:ide|sata|scsi|virtio)\\d+ - ',
  'import failed: ',
].join('|');

/** `body` at the start of the message, or after known prefixes only. */
export const exact = (body: string) => new RegExp(`^(?:${PREFIXES})*(?:${body})`);
