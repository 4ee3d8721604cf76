/** The provider itself: its configuration, its resources and its data sources. */
import { once } from '../base/values/once.ts';
import { resourceOnDemand } from './adapter/offline.ts';
import { Configuration } from './configure/configuration.ts';
import type { ProcessDeps } from './configure/deps.ts';
import { DATA_SOURCES } from './data/names.ts';
import type { Provider } from './provider.ts';

export type { ProcessDeps } from './configure/deps.ts';

export async function createProvider(processDeps: ProcessDeps): Promise<Provider> {
  const configuration = new Configuration(processDeps);
  const { depsOf } = configuration;
  // For Proxmox a template is a VM, so both share what is known.
  const known = once(async () => new (await import('./kinds/vm/leftovers.ts')).KnownVms());
  const sources = once(async () => (await import('./data/index.ts')).dataSources(depsOf));
  return {
    schema: configuration.schema,
    resources: new Map([
      ['proxwright_image', once(async () => (await import('./kinds/image/resource.ts')).imageResource(depsOf))],
      [
        'proxwright_template',
        once(async () => (await import('./kinds/template/resource.ts')).templateResource(depsOf, await known())),
      ],
      [
        'proxwright_vm',
        once(async () =>
          resourceOnDemand((await import('./kinds/vm/desired.ts')).VM_RULES, async () =>
            (await import('./kinds/vm/resource.ts')).vmResource(depsOf, await known()),
          ),
        ),
      ],
    ]),
    dataSources: new Map(DATA_SOURCES.map((name) => [name, async () => (await sources())[name]])),
    validate: async (config) => configuration.validate(config),
    configure: ({ config, hostVersion }) => configuration.configure(config, hostVersion),
    stop: () => configuration.stop(),
  };
}
