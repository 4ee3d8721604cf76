/** What writing a configuration needs, key by key: for a VM that is there, for one that is created, for one that is cloned. */

import type { Secret } from '../../../base/secret.ts';
import { splitList } from '../../../pve/wire/index.ts';
import { isDriveKey } from '../disks.ts';
import type { ConfigWrite } from '../writes.ts';
import { bridgeNeeds, cpuModelNeeds, hostDeviceNeeds, isHostDevice, mappingNeeds, serialNeeds } from './devices.ts';
import { copyNeeds, driveClassNeeds, removalNeeds, volumeNeeds } from './drives.ts';
import { keyNeeds } from './keys.ts';
import { type AclPath, type Need, need, type OneOf, on, type PrivilegeRules } from './need.ts';

export interface ConfigSubject {
  readonly vmid: number;
  /** The VM itself, or the pool it is put into. */
  readonly paths: OneOf<AclPath>;
  readonly rules: PrivilegeRules;
}

/**
 * `current`: the values in effect, which the server looks at besides the new ones. The bridge that a card leaves is asked
 * about since some update within 8.0; before that the right to it is asked for in vain, and is there after the next update.
 */
export function writeNeeds(subject: ConfigSubject, write: ConfigWrite, current: ReadonlyMap<string, string>): Need[] {
  const set = Object.entries(write.set).flatMap(([key, value]) => [
    ...keyNeeds(key, subject.paths),
    ...changedValueNeeds(subject, key, textOf(value), current.get(key)),
  ]);
  const deleted = write.delete.flatMap((key) => [
    ...keyNeeds(key, subject.paths),
    ...deletedValueNeeds(subject, key, current.get(key) ?? '', write.destroysVolumes),
  ]);
  return [...set, ...deleted];
}

function changedValueNeeds(subject: ConfigSubject, key: string, text: string, before: string | undefined): Need[] {
  const { paths, rules } = subject;
  const texts = before === undefined ? [text] : [before, text];
  if (isDriveKey(key)) {
    return [...texts.flatMap((each) => driveClassNeeds(key, each, paths)), ...volumeNeeds(key, text)];
  }
  if (/^net\d+$/.test(key)) return texts.flatMap((each) => bridgeNeeds(key, each));
  if (/^serial\d+$/.test(key)) return serialNeeds(key, texts, paths);
  if (isHostDevice(key)) return texts.flatMap((each) => hostDeviceNeeds(key, each, paths, rules));
  if (key === 'cpu') return cpuModelNeeds(text, before, rules);
  if (key === 'tags') return tagNeeds(before ?? '', text);
  return stateStorageNeeds(key, text);
}

function deletedValueNeeds(subject: ConfigSubject, key: string, before: string, destroysVolumes: boolean): Need[] {
  const { paths, rules, vmid } = subject;
  if (isDriveKey(key)) return removalNeeds(key, before, paths, { vmid, destroysVolumes });
  if (/^net\d+$/.test(key)) return bridgeNeeds(key, before);
  if (/^serial\d+$/.test(key)) return serialNeeds(key, [before], paths);
  if (isHostDevice(key)) return hostDeviceNeeds(key, before, paths, rules);
  return key === 'tags' ? tagNeeds(before, '') : [];
}

/** Of a VM that is created nobody asks what class a drive is; tags are looked at before it is in its pool. */
export function creationNeeds(
  subject: ConfigSubject,
  values: Readonly<Record<string, string | Secret>>,
  own: OneOf<AclPath>,
): Need[] {
  const { paths, rules } = subject;
  return Object.entries(values).flatMap(([key, value]): Need[] => {
    const text = textOf(value);
    if (key === 'tags') return rules.tagsOfNewVms ? [...keyNeeds(key, own), ...tagNeeds('', text)] : [];
    const byName = keyNeeds(key, paths);
    if (isDriveKey(key)) return volumeNeeds(key, text);
    if (/^net\d+$/.test(key)) return [...byName, ...bridgeNeeds(key, text)];
    if (/^serial\d+$/.test(key)) return serialNeeds(key, [text], paths);
    if (isHostDevice(key)) return [...byName, ...hostDeviceNeeds(key, text, paths, rules)];
    if (key === 'cpu') return [...byName, ...cpuModelNeeds(text, undefined, rules)];
    return [...byName, ...stateStorageNeeds(key, text)];
  });
}

/** What comes along with the source of a clone: its storages, bridges, devices and processor model. */
export function inheritedNeeds(
  source: ReadonlyMap<string, string>,
  target: string | undefined,
  rules: PrivilegeRules,
): Need[] {
  const along = [...source].flatMap(([key, text]): Need[] => {
    if (/^net\d+$/.test(key)) return bridgeNeeds(key, text);
    if (isHostDevice(key)) return mappingNeeds(key, text);
    return key === 'cpu' ? cpuModelNeeds(text, undefined, rules) : [];
  });
  // Whatever it is, the line that asks for it is the one that names the template.
  const cause = { field: 'clone.template' };
  return [...copyNeeds(source, target), ...along.map((each) => ({ ...each, cause }))];
}

function tagNeeds(before: string, after: string): Need[] {
  const [old, now] = [new Set(splitList(before)), new Set(splitList(after))];
  const tags = [...new Set([...old, ...now])].filter((tag) => old.has(tag) !== now.has(tag));
  return tags.length === 0 ? [] : [{ kind: 'tags', tags, cause: { key: 'tags' } }];
}

function stateStorageNeeds(key: string, text: string): Need[] {
  return key === 'vmstatestorage' ? [need('Datastore.AllocateSpace', on(`/storage/${text}`), { key })] : [];
}

/** What a secret is does not matter here. */
function textOf(value: string | Secret): string {
  return typeof value === 'string' ? value : '';
}
