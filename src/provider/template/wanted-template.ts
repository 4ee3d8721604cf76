/** A configuration of the host as a template the engine can work with. */
import { addressOf } from '../../base/address.ts';
import type { ResolvedTemplate, Rollout } from '../../kinds/stack.ts';
import { recipeOf } from '../../kinds/template/recipe.ts';
import { withEntry } from '../../spec/located.ts';
import { checkOneTemplate } from '../../spec/one-resource.ts';
import { type CtyObject, isObject, isWhollyKnown } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { readTimeouts } from '../run/timeouts.ts';
import { diagnosticAt, problemAt } from '../values/diagnostics.ts';
import { toFields } from '../values/to-fields.ts';
import type { VmSecrets } from '../vm/secrets.ts';
import { withWriteOnlyPassword } from '../vm/wanted-vm.ts';
import { TEMPLATE_SCHEMA, TEMPLATE_SHAPE, TIMEOUTS } from './schema.ts';

export interface WantedTemplate {
  readonly template: ResolvedTemplate;
  readonly timeouts: Partial<Rollout['timeouts']>;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: readonly string[];
  readonly problems: readonly ProviderDiagnostic[];
}

export function wantedTemplate(config: CtyObject): WantedTemplate {
  const { attributes } = TEMPLATE_SCHEMA;
  const values = toFields(config, TEMPLATE_SHAPE);
  const name = typeof config.name === 'string' ? config.name : 'unnamed';
  const one = checkOneTemplate({ name, tree: withEntry(values.located, 'name', undefined) });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  const isOpen = !isWhollyKnown(config.triggers ?? null);
  const madeFrom = isOpen ? undefined : textsOf(config.triggers);
  const { template } = one;
  const vm = withWriteOnlyPassword(template.vm, config);
  return {
    // One name may stand on several nodes, and their makers are told apart by it.
    template: {
      ...template,
      vm: { ...vm, address: addressOf('template', name, vm.fields.node) },
      ...(madeFrom && { madeFrom }),
    },
    timeouts,
    unknown: [...values.unknown, ...(isOpen ? ['triggers'] : [])],
    problems: [
      ...values.problems.map(({ path, detail }) => problemAt(path, detail, attributes)),
      ...one.diagnostics.map((diagnostic) => diagnosticAt(diagnostic, attributes)),
      ...problems,
    ],
  };
}

function textsOf(value: CtyObject[string] | undefined): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

/** Where it stands and how long it may take is no part of it. */
const BESIDE_RECIPE = /^(name|node|vmid|vmids|install\.timeout|timeouts)(\.|$)/;

/** Undefined while something that it depends on is not known. */
export function knownRecipe({ template, unknown }: WantedTemplate, secrets: VmSecrets): string | undefined {
  if (unknown.some((path) => !BESIDE_RECIPE.test(path))) return undefined;
  return recipeOf(template, { images: [] }, new Map([[template.vm.address, secrets]]));
}

export function isOpen({ unknown }: WantedTemplate, paths: readonly string[]): boolean {
  return paths.some((path) => unknown.includes(path));
}
