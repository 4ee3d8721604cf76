/**
 * Everything that may take its time: what answers calls, and the provider behind it. `main.ts` asks for it when the host has
 * its handshake; the bundle keeps it as text until then, because even parsing it takes longer than the handshake may.
 */
export { createProviderServer } from './host/serve.ts';
export { createProvider } from './index.ts';
