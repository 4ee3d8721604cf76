/** Where in a resource something stands: names of attributes, keys of maps, places in lists. */

export type PathStep =
  | { readonly kind: 'attribute'; readonly name: string }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number };

export type AttributePath = readonly PathStep[];

export const attribute = (name: string): PathStep => ({ kind: 'attribute', name });
export const key = (text: string): PathStep => ({ kind: 'key', key: text });
export const index = (place: number): PathStep => ({ kind: 'index', index: place });
