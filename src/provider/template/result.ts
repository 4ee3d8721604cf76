/** What the host is told of a template. */
import type { VmRecord } from '../../kinds/vm/record.ts';
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../cty/value.ts';
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { managedPaths } from '../values/planned.ts';
import type { Built } from './build.ts';
import { writePrivate } from './private-state.ts';
import { TEMPLATE_SCHEMA, USER_ATTRIBUTES } from './schema.ts';

export interface FinishedTemplate extends Pick<Built, 'retired' | 'owner'> {
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly current: VmRecord;
  readonly recipe: string;
}

export function finished(template: FinishedTemplate, diagnostics: readonly ProviderDiagnostic[] = []): ApplyResult {
  const { planned, config, current, recipe, retired, owner } = template;
  const computed: CtyObject = {
    id: `${current.node}/${current.vmid}`,
    vmid: current.vmid,
    uuid: current.uuid ?? null,
    recipe,
  };
  const state = objectOf(
    Object.keys(TEMPLATE_SCHEMA.attributes).map((name): [string, CtyValue] => {
      const value: CtyValue = planned[name] ?? null;
      return [name, value === UNKNOWN ? (computed[name] ?? null) : known(value)];
    }),
  );
  const kept = {
    managed: managedPaths(USER_ATTRIBUTES, config),
    applied: current.lastApplied,
    retired: retired.filter(({ vmid }) => vmid !== current.vmid),
    ...(owner !== undefined && { owner }),
  };
  return { state, private: writePrivate(kept), diagnostics };
}

/** Nothing may stay unknown once it has been applied. */
function known(value: CtyValue): CtyValue {
  if (value === UNKNOWN) return null;
  return isObject(value) ? objectOf(Object.entries(value).map(([name, inner]) => [name, known(inner)])) : value;
}
