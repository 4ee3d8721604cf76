/** Every call of the protocol, passed on to the provider in its own terms. Those about resources have their own file. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Provider, type ServerCapabilitiesSchema } from '../protocol/generated/tfplugin6.generated.ts';
import type { ResourceType } from '../provider.ts';
import type { Method } from './grpc-server.ts';
import { createGuard, type Guard, type GuardOptions, messages, named } from './guard.ts';
import { type ResourceCall, resourceHandlers } from './resource-handlers.ts';
import { type Handlers, methodsOf } from './routes.ts';
import { schemaMessage } from './schema-message.ts';
import { readConfig, writeObject } from './values.ts';

export function providerMethods(options: GuardOptions): ReadonlyMap<string, Method> {
  const guard = createGuard(options);
  return methodsOf(Provider, { ...providerHandlers(options, guard), ...resourceHandlers(guard) });
}

const CAPABILITIES: MessageInitShape<typeof ServerCapabilitiesSchema> = {
  planDestroy: true,
  getProviderSchemaOptional: true,
  moveResourceState: true,
};

function providerHandlers(
  { provider: load }: GuardOptions,
  guard: Guard,
): Omit<Handlers<typeof Provider>, ResourceCall> {
  return {
    getMetadata: () =>
      guard('GetMetadata', async ({ resources, dataSources }) => ({
        serverCapabilities: CAPABILITIES,
        resources: [...resources.keys()].map((typeName) => ({ typeName })),
        dataSources: [...dataSources.keys()].map((typeName) => ({ typeName })),
      })),
    getProviderSchema: () =>
      guard('GetProviderSchema', async ({ schema, resources, dataSources }) => ({
        serverCapabilities: CAPABILITIES,
        provider: schemaMessage(schema),
        resourceSchemas: schemaMessages(resources),
        dataSourceSchemas: schemaMessages(dataSources),
      })),
    getFunctions: async () => ({}),
    validateProviderConfig: ({ config }) =>
      guard('ValidateProviderConfig', async (provider) => ({
        diagnostics: messages(await provider.validate(readConfig(config, provider.schema)), provider.schema),
      })),
    configureProvider: ({ config, terraformVersion: hostVersion }) =>
      guard('ConfigureProvider', async (provider) => {
        const request = { config: readConfig(config, provider.schema), hostVersion };
        return { diagnostics: messages(await provider.configure(request), provider.schema) };
      }),
    validateDataResourceConfig: ({ typeName, config }) =>
      guard('ValidateDataResourceConfig', async ({ dataSources }) => {
        const source = named(dataSources, typeName);
        return { diagnostics: messages(await source.validate(readConfig(config, source.schema)), source.schema) };
      }),
    readDataSource: ({ typeName, config }) =>
      guard('ReadDataSource', async ({ dataSources }) => {
        const source = named(dataSources, typeName);
        const { state, diagnostics } = await source.read(readConfig(config, source.schema));
        return { state: writeObject(state, source.schema), diagnostics: messages(diagnostics, source.schema) };
      }),
    stopProvider: async () => {
      try {
        (await load()).stop();
        return {};
      } catch (thrown) {
        return { error: thrown instanceof Error ? thrown.message : String(thrown) };
      }
    },
  };
}

function schemaMessages(things: ReadonlyMap<string, Pick<ResourceType, 'schema'>>) {
  return Object.fromEntries([...things].map(([name, { schema }]) => [name, schemaMessage(schema)]));
}
