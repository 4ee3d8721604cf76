/** What the toy loads after its handshake. */
import type { ProviderHost } from '../../../src/provider/host/run.ts';
import { createToyProvider } from './toy-provider.ts';

export { createProviderServer } from '../../../src/provider/host/serve.ts';
export const createProvider = async (host: ProviderHost) => createToyProvider(host);
