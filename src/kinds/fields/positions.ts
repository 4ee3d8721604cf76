/** Where the fields of a resource were written in the stack file. */
import type { Address } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';

/** A resource with the lines on which its fields were written, by path. */
export interface Positioned {
  readonly address: Address;
  readonly positions: Readonly<Record<string, Where>>;
}

/** Where a field of a resource was written, or else its nearest parent. */
export function positionOf({ address, positions }: Positioned, path: string): Where {
  const parts = path.split('.');
  for (let length = parts.length; length > 0; length--) {
    const found = positions[parts.slice(0, length).join('.')];
    if (found) return { ...found, address };
  }
  return { ...positions[''], address };
}

/** The same, with the field itself. */
export function whereOf(resource: Positioned, path = ''): Where {
  return { ...positionOf(resource, path), ...(path !== '' && { field: path }) };
}
