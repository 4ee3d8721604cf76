/** The whole provider. Loaded with the first call that the schema does not answer. */
export { providerMethods } from './host/provider-service.ts';
export { createProvider } from './index.ts';
