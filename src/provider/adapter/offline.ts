/** The calls for a resource that need no server. A process that only validates loads nothing else of a kind. */
import { once } from '../../base/values/once.ts';
import type { ResourceType } from '../provider.ts';
import type { DesiredResource, Migrations, ResourceRules, StoredState } from './kind.ts';

export function offline<Desired extends DesiredResource>(
  rules: ResourceRules<Desired>,
): Pick<ResourceType, 'schema' | 'validate' | 'upgrade'> {
  return {
    schema: rules.schema,
    // Whether it exists is not known here, so rules that apply only to a new one wait for the plan.
    validate: async (config, capabilities) => [
      ...rules.desired(config, true).problems,
      ...(rules.validate?.(config, capabilities) ?? []),
    ],
    upgrade: async ({ version, state }) => ({
      state: migrated(rules.migrations ?? [], version, state),
      diagnostics: [],
    }),
  };
}

/** A resource of which the rest is loaded with the first call that needs it. */
export function resourceOnDemand<Desired extends DesiredResource>(
  rules: ResourceRules<Desired>,
  load: () => Promise<ResourceType>,
): ResourceType {
  const whole = once(load);
  return {
    ...offline(rules),
    read: async (request, call) => (await whole()).read(request, call),
    plan: async (request, call) => (await whole()).plan(request, call),
    apply: async (request, call) => (await whole()).apply(request, call),
    import: async (id, call) => (await whole()).import(id, call),
    move: async (request) => (await whole()).move?.(request),
  };
}

/** A state that an earlier version of the schema wrote, migrated version by version. */
export function migrated(migrations: Migrations, version: number, state: unknown): unknown {
  if (typeof state !== 'object' || state === null) return state;
  return migrations.slice(version).reduce((older, migrate) => migrate(older), state as StoredState); // JSON of an object
}
