/** What a Terraform state knows: a state file, or what `terraform show -json` prints. */
import { z } from 'zod';
import type { Value } from './stack/value.ts';

export interface StateResource {
  /** `module.a`, or empty. */
  readonly module: string;
  /** `data.x.y` or `x.y`. */
  readonly address: string;
  readonly index: string | number | undefined;
  readonly values: { readonly [name: string]: Value };
}

const json: z.ZodType<Value> = z.json() as unknown as z.ZodType<Value>; // the same values by another name
const values = z.record(z.string(), json);
const index = z.union([z.string(), z.number()]).optional();

const stateFile = z.looseObject({
  resources: z.array(
    z.looseObject({
      module: z.string().optional(),
      mode: z.string(),
      type: z.string(),
      name: z.string(),
      instances: z.array(z.looseObject({ index_key: index, attributes: values.optional() })),
    }),
  ),
});

const shownResource = z.looseObject({
  mode: z.string(),
  type: z.string(),
  name: z.string(),
  index,
  values: values.optional(),
});

interface ShownModule {
  readonly address?: string | undefined;
  readonly resources?: readonly z.output<typeof shownResource>[] | undefined;
  readonly child_modules?: readonly ShownModule[] | undefined;
}

const shownModule: z.ZodType<ShownModule> = z.looseObject({
  address: z.string().optional(),
  resources: z.array(shownResource).optional(),
  child_modules: z.lazy(() => z.array(shownModule)).optional(),
});

const shown = z.looseObject({ values: z.looseObject({ root_module: shownModule }) });

const named = (mode: string, type: string, name: string): string => `${mode === 'data' ? 'data.' : ''}${type}.${name}`;

/** Undefined: neither of both. */
export function readState(text: string): readonly StateResource[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  const file = stateFile.safeParse(parsed);
  if (file.success) {
    return file.data.resources.flatMap(({ module = '', mode, type, name, instances }) =>
      instances.map((instance) => ({
        module,
        address: named(mode, type, name),
        index: instance.index_key,
        values: instance.attributes ?? {},
      })),
    );
  }
  const printed = shown.safeParse(parsed);
  return printed.success ? inModule(printed.data.values.root_module) : undefined;
}

function inModule({ address = '', resources = [], child_modules = [] }: ShownModule): readonly StateResource[] {
  const own = resources.map(({ mode, type, name, index: key, values: known }) => ({
    module: address,
    address: named(mode, type, name),
    index: key,
    values: known ?? {},
  }));
  return [...own, ...child_modules.flatMap(inModule)];
}
