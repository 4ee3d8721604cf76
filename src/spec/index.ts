/** From the text of a stack file to a resolved stack. */
export { stackJsonSchema } from './json-schema.ts';
export { loadStack } from './load.ts';
export { type Resolution, resolveStack } from './resolve.ts';
export type { ResolvedStack, ResolvedVm } from './types.ts';
