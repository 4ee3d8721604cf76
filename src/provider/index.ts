/** The provider itself: its configuration, its resources and its data sources. */
import { Configuration } from './configure/configuration.ts';
import type { ProviderDoors } from './configure/surroundings.ts';
import { dataSources } from './data/index.ts';
import { imageResource } from './image/resource.ts';
import type { Provider } from './provider.ts';
import { templateResource } from './template/resource.ts';
import { VmContext } from './vm/context.ts';
import { vmResource } from './vm/resource.ts';

export type { ProviderDoors } from './configure/surroundings.ts';

export async function createProvider(doors: ProviderDoors): Promise<Provider> {
  const configuration = new Configuration(doors);
  const { surroundingsOf } = configuration;
  // VMs and templates are of one kind: what is known of the ones counts for the others.
  const context = new VmContext(surroundingsOf);
  return {
    schema: configuration.schema,
    resources: new Map([
      ['proxwright_image', imageResource(surroundingsOf)],
      ['proxwright_template', templateResource(context)],
      ['proxwright_vm', vmResource(surroundingsOf, context)],
    ]),
    dataSources: dataSources(surroundingsOf),
    validate: async (config) => configuration.validate(config),
    configure: ({ config, hostVersion }) => configuration.configure(config, hostVersion),
    stop: () => configuration.stop(),
  };
}
