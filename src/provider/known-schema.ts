/**
 * The answer to GetProviderSchema, which is the same for every process. When run from source it is computed; the
 * bundler puts the bytes here (`tools/provider/known-schema.ts`), so that a process that is only asked for the schema
 * does not load the provider.
 */
export const knownSchema: (() => Uint8Array) | undefined = undefined;
