/** From the text of a stack file to a resolved stack. */
export { type JsonSchema, stackJsonSchema } from './json-schema.ts';
export { type LoadedStack, loadStack } from './load.ts';
export { type Resolution, resolveStack } from './resolve.ts';
export type { ConnectionSpec, OutputsSpec, ResolvedStack, ResolvedVm, Rollout, SecretReference } from './types.ts';
export type { VariableInputs } from './variable-values.ts';
