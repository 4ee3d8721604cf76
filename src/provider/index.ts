/** The provider itself: its configuration, its resources and its data sources. */
import { Configuration } from './configure/configuration.ts';
import type { ProcessDeps } from './configure/deps.ts';
import { dataSources } from './data/index.ts';
import { imageResource } from './kinds/image/resource.ts';
import { templateResource } from './kinds/template/resource.ts';
import { KnownVms } from './kinds/vm/leftovers.ts';
import { vmResource } from './kinds/vm/resource.ts';
import type { Provider } from './provider.ts';

export type { ProcessDeps } from './configure/deps.ts';

export async function createProvider(processDeps: ProcessDeps): Promise<Provider> {
  const configuration = new Configuration(processDeps);
  const { depsOf } = configuration;
  // For Proxmox a template is a VM, so both share what is known.
  const known = new KnownVms();
  return {
    schema: configuration.schema,
    resources: new Map([
      ['proxwright_image', imageResource(depsOf)],
      ['proxwright_template', templateResource(depsOf, known)],
      ['proxwright_vm', vmResource(depsOf, known)],
    ]),
    dataSources: dataSources(depsOf),
    validate: async (config) => configuration.validate(config),
    configure: ({ config, hostVersion }) => configuration.configure(config, hostVersion),
    stop: () => configuration.stop(),
  };
}
