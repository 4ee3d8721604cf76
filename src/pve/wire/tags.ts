/**
 * Tags of a guest: one text, split like every list, stored without duplicates and joined by `;`. By default lower-cased
 * and sorted; the datacenter's `tag-style` may switch either off.
 * Mirrors get_unique_tags of pve-guest-common, src/PVE/GuestHelpers.pm.
 */
import { byCodeUnit, splitList } from './list.ts';

export interface TagStyle {
  readonly caseSensitive: boolean;
  readonly keepOrder: boolean;
}

const DEFAULT_TAG_STYLE: TagStyle = { caseSensitive: false, keepOrder: false };

/** The distinct tags of a text, as the server would store them. */
export function parseTags(text: string, style: TagStyle = DEFAULT_TAG_STYLE): string[] {
  const tags = splitList(text).map((tag) => (style.caseSensitive ? tag : tag.toLowerCase()));
  const distinct = [...new Set(tags)];
  return style.keepOrder ? distinct : distinct.sort(byCodeUnit);
}

export function printTags(tags: readonly string[]): string {
  return tags.join(';');
}

export function isTag(text: string): boolean {
  return /^[a-z0-9_][a-z0-9_\-+.]*$/i.test(text);
}

/** As sets, whatever their case: the reader cannot know which `tag-style` was in force when they were written. */
export function equalTags(a: string, b: string): boolean {
  return printTags(parseTags(a)) === printTags(parseTags(b));
}
