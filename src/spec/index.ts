/** From the text of a stack file to a resolved stack. */

export type { ResolvedStack } from '../kinds/stack.ts';
export type { ResolvedVm } from '../kinds/vm/stack.ts';
export { stackJsonSchema } from './json-schema.ts';
export { loadStack } from './load.ts';
export { type Resolution, resolveStack } from './resolve.ts';
