/** Arguments that several data sources have, and the filter that they define. */
import { z } from 'zod';
import { type FieldFacts, field } from '../../kinds/fields/field.ts';
import type { Guest } from './inventory.ts';

export function argument<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  more: Partial<FieldFacts> = {},
): Schema {
  return field(schema, { description, effect: 'none', ...more });
}

const tag = z.string().min(1);

export const nodeArgument = argument(z.string().min(1).optional(), 'Only on this node.');
export const nameRegexArgument = argument(
  z.string().refine(isRegularExpression, 'it is not a regular expression').optional(),
  'Only those whose name matches this regular expression, anywhere in the name unless it is anchored.',
  { examples: ['^web-'] },
);
export const tagArgument = argument(tag.optional(), 'Only those with this tag.');
export const tagsArgument = argument(z.array(tag).optional(), 'Only those with all of these tags.', {
  unordered: true,
});
export const vmidArgument = argument(z.number().int().min(100).max(999_999_999).optional(), 'Its id.');

export interface GuestFilter {
  readonly name_regex?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly status?: string | undefined;
}

export function passes({ name_regex, tags = [], status }: GuestFilter): (guest: Guest) => boolean {
  const pattern = name_regex === undefined ? undefined : new RegExp(name_regex, 'u');
  const isTagged = (guest: Guest, name: string) => guest.tags.some((each) => each.toLowerCase() === name.toLowerCase());
  return (guest) =>
    (pattern?.test(guest.name ?? '') ?? true) &&
    tags.every((name) => isTagged(guest, name)) &&
    (status === undefined || guest.status === status);
}

function isRegularExpression(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
