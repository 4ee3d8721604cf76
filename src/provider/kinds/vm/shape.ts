/** The field table of a VM in the host's language. */
import { vmFieldsSchema } from '../../../kinds/vm/fields/index.ts';
import { attributesOf, type Wording } from '../../schema/from-fields.ts';
import type { Attributes } from '../../schema/model.ts';
import { type GroupShape, groupShape } from '../../schema/shape.ts';

/**
 * The host replaces resources by its own rules, knows no groups and has programs of its own: `update`, `snapshot` and
 * `hooks` belong to stacks.
 */
export const VM_SHAPE: GroupShape = groupShape(vmFieldsSchema.omit({ update: true, snapshot: true, hooks: true }));

export function vmFieldAttributes(options: Wording = {}): Attributes {
  return attributesOf(VM_SHAPE, options);
}
