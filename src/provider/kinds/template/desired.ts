/** The schema of `proxwright_template`, and a configuration of the host as a template that the engine can work with. */
import { z } from 'zod';
import { addressOf } from '../../../base/address.ts';
import { field } from '../../../kinds/fields/field.ts';
import { recipeOf } from '../../../kinds/template/recipe.ts';
import type { ResolvedTemplate } from '../../../kinds/template/stack.ts';
import { withEntry } from '../../../spec/located.ts';
import { checkOneTemplate } from '../../../spec/one-resource.ts';
import { NOT_OF_TEMPLATES, templateKeysSchema } from '../../../spec/stack-schema.ts';
import type { DesiredResource } from '../../adapter/kind.ts';
import type { Subject } from '../../adapter/outcome.ts';
import { readTimeouts, type TimeoutWords, timeoutsAttribute } from '../../adapter/timeouts.ts';
import { asArguments } from '../../configure/arguments.ts';
import { type CtyObject, isObject, isWhollyKnown } from '../../cty/value.ts';
import { attributesOfFields, withNested } from '../../schema/from-fields.ts';
import { type Attribute, type Attributes, computed, type Schema } from '../../schema/model.ts';
import { type GroupShape, groupShape } from '../../schema/shape.ts';
import { inputProblems } from '../../values/diagnostics.ts';
import { toFields } from '../../values/to-fields.ts';
import { withBootOrder, withWriteOnlyPassword } from '../vm/desired.ts';
import { PASSWORD_WRITE_ONLY } from '../vm/schema.ts';
import type { VmSecrets } from '../vm/secrets.ts';
import { VM_SHAPE, vmFieldAttributes } from '../vm/shape.ts';

const TIMEOUTS: TimeoutWords = {
  clone: 'Creating it and its disks, and converting it.',
  start: 'Starting it, where it installs itself.',
  lock: 'Waiting for locks, in total for one step.',
};

/** Its name is an attribute here. */
const { name: _, ...REFUSED } = NOT_OF_TEMPLATES;

function withoutRefused<Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(REFUSED, name)));
}

const ownKeys = templateKeysSchema.pick({ from: true, install: true }).extend({
  vmids: field(z.string().min(1).optional(), {
    description:
      'Ids that its versions may have, instead of `vmid`: `9000-9009`. Each version takes the first one that is free.',
    effect: 'creation',
  }),
});

/** The fields of the VM that becomes the template, and those of the template itself. */
export const TEMPLATE_SHAPE: GroupShape = {
  ...VM_SHAPE,
  fields: { ...withoutRefused(VM_SHAPE.fields), ...groupShape(ownKeys).fields },
};

const triggers: Attribute = {
  type: { kind: 'value', type: ['map', 'string'] },
  given: 'optional',
  description:
    'Other inputs. A change builds a new version, for example when an image changes and keeps its name: `{ image = proxwright_image.noble.sha256 }`.',
};

const WORDS: Readonly<Record<string, string>> = {
  name: 'Name of the template. A clone by name uses its newest version.',
  node: 'The node that the template is on. A changed node replaces the template.',
  vmid: 'Id of the template. With a fixed id, a new version cannot exist beside the old one: a changed recipe replaces the template, which fails while linked clones use it. Without it, and without `vmids`, the next free id.',
};

/** The descriptions of a VM's fields, where those of a template differ. */
function described(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, each]): [string, Attribute] => {
      const description = WORDS[name];
      return [name, description === undefined ? each : { ...each, description }];
    }),
  );
}

/** A template never runs, so no change takes effect in it: each one builds a new version. */
const vmAttributes = withNested(vmFieldAttributes({ neverRuns: true }), 'cloud_init', {
  password_wo: PASSWORD_WRITE_ONLY,
});

/** Everything a user may set. */
export const USER_ATTRIBUTES: Attributes = {
  ...described(withoutRefused(vmAttributes)),
  ...asArguments(attributesOfFields(ownKeys)),
  triggers,
  timeouts: timeoutsAttribute(TIMEOUTS, 'template'),
};

export const COMPUTED_ATTRIBUTES: Attributes = {
  id: computed('string', 'Its node and its id, as an import takes them: `pve1/9000`. Each version has its own.'),
  uuid: computed('string', 'Together with the id it identifies the template: an id alone can be reused.'),
  recipe: computed(
    'string',
    'Fingerprint of everything the template is made from. Another recipe builds a new version.',
  ),
};

export const TEMPLATE_SCHEMA: Schema = {
  version: 0,
  description:
    'A template: a VM that is created from an image, installs itself from an ISO, or is copied from another VM, and is then converted. A changed recipe builds a new version beside the old one, which stays as long as linked clones use it.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};

export const TEMPLATE: Subject = {
  noun: 'template',
  attributes: TEMPLATE_SCHEMA.attributes,
  newIdentity: 'another name',
};

export interface DesiredTemplate extends DesiredResource {
  readonly template: ResolvedTemplate;
}

export function desiredTemplate(config: CtyObject): DesiredTemplate {
  const { attributes } = TEMPLATE_SCHEMA;
  const values = toFields(config, TEMPLATE_SHAPE);
  const name = typeof config.name === 'string' ? config.name : 'unnamed';
  const { template, diagnostics } = checkOneTemplate({ name, tree: withEntry(values.located, 'name', undefined) });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  const areTriggersKnown = isWhollyKnown(config.triggers ?? null);
  const madeFrom = areTriggersKnown ? textsOf(config.triggers) : undefined;
  const vm = withWriteOnlyPassword(template.vm, config);
  return {
    // Several nodes may have a template of one name, so the address holds the node too.
    template: {
      ...template,
      vm: { ...vm, address: addressOf('template', name, vm.fields.node) },
      ...(madeFrom && { madeFrom }),
    },
    timeouts,
    unknown: withBootOrder([...values.unknown, ...(areTriggersKnown ? [] : ['triggers'])]),
    problems: [...inputProblems(values, diagnostics, attributes), ...problems],
  };
}

function textsOf(value: CtyObject[string] | undefined): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

/** Where it is and how long it may take is not part of the recipe. */
const BESIDE_RECIPE = /^(name|node|vmid|vmids|install\.timeout|timeouts)(\.|$)/;

/** Undefined while something that it depends on is not known. */
export function knownRecipe({ template, unknown }: DesiredTemplate, secrets: VmSecrets): string | undefined {
  if (unknown.some((path) => !BESIDE_RECIPE.test(path))) return undefined;
  return recipeOf(template, { images: [] }, new Map([[template.vm.address, secrets]]));
}
