/** The toy itself. */
import type { ProviderHost } from '../../../src/provider/host/run.ts';
import { createToyProvider } from './toy-provider.ts';

export { providerMethods } from '../../../src/provider/host/provider-service.ts';
export const createProvider = async (host: ProviderHost) => createToyProvider(host);
