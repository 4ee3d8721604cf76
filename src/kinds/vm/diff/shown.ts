/** A field's actual value in the syntax of the file, for plans. */

import { describeConfigKey } from '../../../pve/wire/index.ts';
import { wordsOfText } from '../../fields/words.ts';
import type { DesiredEntry, DesiredField } from '../config/desired.ts';
import { diskPartText } from '../config/disks.ts';
import { defaultOfPart, propertyOf } from '../config/parts.ts';
import { ownershipLines, stripOwnership } from '../ownership.ts';
import { isDevice } from './merge.ts';

export const MASK = '•••';

/** `null` if nothing is set and Proxmox has no default. */
export function shownValue(entry: DesiredEntry, field: DesiredField, actual: string | undefined): unknown {
  const { key, desired } = entry;
  if (field.hidden) return actual === undefined ? null : MASK;
  if (actual === undefined && (isDevice(key) || desired.kind === 'secret')) return null;
  switch (desired.kind) {
    case 'secret':
      return MASK;
    case 'notes':
      return shownNotes(field, actual ?? '');
    case 'property':
      return wordsOfText(field.words, partText(key, field, actual), key);
    case 'disk':
    case 'cdrom':
    case 'cloud-init-drive':
      return wordsOfText(field.words, diskPartText(key, field.parts[0] ?? '', actual ?? ''), key);
    default:
      return wordsOfText(field.words, wholeText(key, actual), key);
  }
}

/** The desired value; a secret is masked. */
export function desiredValue(field: DesiredField): unknown {
  if (field.words === 'secret' || field.hidden) return MASK;
  return field.words === 'removal' ? null : field.value;
}

function shownNotes(field: DesiredField, notes: string): unknown {
  const text = field.words === 'notes' ? stripOwnership(notes) : ownershipLines(notes).join('\n');
  return text === '' ? null : text;
}

function partText(key: string, field: DesiredField, actual: string | undefined): string | undefined {
  const value = propertyOf(key, actual);
  const present = field.parts.find((part) => value.get(part) !== undefined);
  const [first = ''] = field.parts;
  return value.get(present ?? first) ?? defaultOfPart(key, first);
}

function wholeText(key: string, actual: string | undefined): string | undefined {
  const described = describeConfigKey(key);
  return actual === undefined || actual.trim() === '' ? described?.default : actual;
}
