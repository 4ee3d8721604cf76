/** What the toy loads after its handshake. */
export { createProviderServer } from '../../../src/provider/host/serve.ts';

export const loadProvider = () => import('./whole-provider.ts');
