/** The provider itself: its configuration, its resources and its data sources. */
import { Configuration } from './configure/configuration.ts';
import type { ProviderDoors } from './configure/surroundings.ts';
import { dataSources } from './data/index.ts';
import type { Provider } from './provider.ts';
import { vmResource } from './vm/resource.ts';

export type { ProviderDoors } from './configure/surroundings.ts';

export async function createProvider(doors: ProviderDoors): Promise<Provider> {
  const configuration = new Configuration(doors);
  const { surroundingsOf } = configuration;
  return {
    schema: configuration.schema,
    resources: new Map([['proxwright_vm', vmResource(surroundingsOf)]]),
    dataSources: dataSources(surroundingsOf),
    validate: async (config) => configuration.validate(config),
    configure: ({ config, hostVersion }) => configuration.configure(config, hostVersion),
    stop: () => configuration.stop(),
  };
}
