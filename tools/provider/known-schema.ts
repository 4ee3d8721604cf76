/** The bytes by which the provider answers GetProviderSchema, made by the provider itself. */
import { silentLogger } from '../../src/base/log.ts';
import { KnownSecrets } from '../../src/base/secret.ts';
import { providerMethods } from '../../src/provider/host/provider-service.ts';
import { SCHEMA_CALL } from '../../src/provider/host/serve.ts';
import { createProvider } from '../../src/provider/index.ts';

export async function schemaAnswer(): Promise<Uint8Array> {
  const host = { log: silentLogger, environment: {}, secrets: new KnownSecrets() };
  const method = providerMethods({ provider: () => createProvider(host), ...host }).get(SCHEMA_CALL);
  if (method?.kind !== 'unary') throw new Error(`The provider has no ${SCHEMA_CALL}.`);
  return method.handle(new Uint8Array(), new AbortController().signal);
}
