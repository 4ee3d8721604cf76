/**
 * What a process needs to answer its host at all, and the schema. `main.ts` asks for it when the host has its handshake; the bundle
 * keeps it as text until then, because even parsing it takes longer than the handshake may.
 */
export { createProviderServer } from './host/serve.ts';
export { knownSchema } from './known-schema.ts';

export const loadProvider = () => import('./whole-provider.ts');
