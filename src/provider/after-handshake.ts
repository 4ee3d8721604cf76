/**
 * What a process needs to answer its host, and the schema. `main.ts` loads it after the handshake; the bundle keeps it
 * as text until then, because even parsing it would delay the handshake too much.
 */
export { createProviderServer } from './host/serve.ts';
export { knownSchema } from './known-schema.ts';

export const loadProvider = () => import('./whole-provider.ts');
