/**
 * The text form of a VM configuration file: printing and reading. The round trip changes values on purpose: an empty
 * value becomes one blank, trailing white space of a description is lost, a value that its format refuses is dropped.
 * Clients see those effects, so the simulator writes and re-reads like the real server.
 */
import { createHash } from 'node:crypto';
import { percentDecode } from '../../../pve/wire/index.ts';
import { splitLikePerl } from '../../schema/perl-text.ts';
import type { VmConfigFile } from '../../world/world.ts';
import { readableValue } from './config-keys.ts';

export type MutableSection = Map<string, string>;

/** A copy of a configuration that may be changed and then saved. */
export interface ConfigDraft {
  current: MutableSection;
  pending: MutableSection;
  pendingDeletes: Map<string, boolean>;
  snapshots: Map<string, MutableSection>;
  cloudInit: MutableSection | undefined;
}

/** Rule [source QS QemuServer.pm write_vm_config]: description as comment on top, then keys sorted, then the sections. */
export function renderConfig(draft: ConfigDraft): string {
  let text = renderSection(draft.current, false);
  const pending = new Map(draft.pending);
  if (draft.pendingDeletes.size > 0) pending.set('delete', renderDeletes(draft.pendingDeletes));
  if (pending.size > 0) text += `\n[PENDING]\n${renderSection(pending, true)}`;
  if (draft.cloudInit) text += `\n[special:cloudinit]\n${renderSection(draft.cloudInit, false)}`;
  for (const name of [...draft.snapshots.keys()].sort()) {
    text += `\n[${name}]\n${renderSection(draft.snapshots.get(name) ?? new Map(), false)}`;
  }
  return text;
}

/** Rule [source QS QemuServer.pm parse_vm_config]: see the oddities noted below. */
export function parseConfig(text: string): VmConfigFile {
  const file = {
    current: new Map<string, string>(),
    pending: new Map<string, string>(),
    pendingDeletes: new Map<string, boolean>(),
    snapshots: new Map<string, MutableSection>(),
    cloudInit: undefined as MutableSection | undefined,
  };
  let section: MutableSection = file.current;
  let kind: 'config' | 'special' = 'config';
  let description: string | undefined;
  const finishDescription = () => {
    // Rule [recorded description-whitespace]: trailing white space of a description is lost.
    if (description !== undefined) section.set('description', description.replace(/\s+$/, ''));
    description = undefined;
  };
  for (const line of text.split('\n')) {
    if (/^\s*$/.test(line)) continue;
    const header = /^\[([^\]]*)\]\s*$/.exec(line)?.[1];
    if (header !== undefined) {
      finishDescription();
      section = new Map();
      kind = 'config';
      if (header === 'PENDING') {
        file.pending = section;
      } else if (header === 'special:cloudinit') {
        file.cloudInit = section;
        kind = 'special';
      } else {
        file.snapshots.set(header, section);
      }
    } else if (line.startsWith('#')) {
      description = `${description ?? ''}${decodeText(line.slice(1))}\n`;
    } else {
      // Rule [recorded create-minimal]: `boot: ` without a value reads back as a single blank.
      const match = /^([a-z][a-z_-]*\d*):\s*(.+?)\s*$/.exec(line);
      if (!match) continue;
      const [, key = '', value = ''] = match;
      if (key === 'delete' && section === file.pending) {
        for (const entry of value.split(/[\s,;]+/).filter(Boolean)) {
          file.pendingDeletes.set(entry.replace(/^!/, ''), entry.startsWith('!'));
        }
        continue;
      }
      const readable = kind === 'special' ? value : readableValue(key, value);
      if (readable !== undefined) section.set(key, readable);
    }
  }
  finishDescription();
  return { ...file, digest: createHash('sha1').update(text).digest('hex') };
}

function renderSection(section: ReadonlyMap<string, string>, isPending: boolean): string {
  let text = '';
  const description = section.get('description');
  // Rule [source QS QemuServer.pm write_vm_config]: a description of "0" or nothing is not written (Perl truth).
  if (description !== undefined && description !== '' && description !== '0') {
    // Rule [source QS QemuServer.pm write_vm_config]: empty lines at the end go, so nothing but line feeds is nothing.
    for (const line of splitLikePerl(description, '\n')) text += `#${encodeText(line)}\n`;
  } else if (description !== undefined && isPending) {
    text += '#\n';
  }
  for (const key of [...section.keys()].sort()) {
    if (key !== 'description') text += `${key}: ${section.get(key)}\n`;
  }
  return text;
}

function renderDeletes(deletes: ReadonlyMap<string, boolean>): string {
  return [...deletes.keys()]
    .sort()
    .map((key) => (deletes.get(key) ? `!${key}` : key))
    .join(',');
}

/** Rule [source PC ParseUtils.pm encode_text]: control characters, colons, percent signs and all but ASCII, as UTF-8. */
function encodeText(line: string): string {
  return line.replace(/[^\x20-\x24\x26-\x39\x3b-\x7e]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

const decodeText = percentDecode;
