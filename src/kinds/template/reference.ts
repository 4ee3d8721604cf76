/** How a stack refers to a template: by name or by ID. */

/** The key under which a reference is kept: IDs and names do not collide. */
export function templateKey(reference: string | number): string {
  return typeof reference === 'number' || /^\d+$/.test(reference) ? `#${reference}` : reference;
}
