/** The rules by which a host calls a plan invalid, in the order in which it checks them. */
import { type CtyObject, type CtyValue, isObject } from '../../cty/value.ts';
import type { Attribute, Attributes } from '../../schema/model.ts';
import { equalValues } from '../equal.ts';

/** Complaints, each with its path. */
export function planProblems(
  attributes: Attributes,
  values: { readonly config: CtyObject; readonly prior: CtyObject | null; readonly planned: CtyObject },
  path = '',
): string[] {
  return Object.entries(attributes).flatMap(([name, attribute]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const planned = values.planned[name];
    if (planned === undefined) return [`${at}: missing`];
    const given: Omit<Values, 'planned'> = { config: values.config[name] ?? null, prior: values.prior?.[name] ?? null };
    return attributeProblems(attribute, { ...given, planned }, at);
  });
}

interface Values {
  readonly config: CtyValue;
  readonly prior: CtyValue;
  readonly planned: CtyValue;
}

function attributeProblems(attribute: Attribute, { config, prior, planned }: Values, path: string): string[] {
  if (attribute.writeOnly) return planned === null ? [] : [`${path}: a value for a write-only attribute`];
  if (equalValues(planned, config)) return [];
  if (prior !== null && config !== null && equalValues(planned, prior)) return [];
  if (config === null) {
    const isComputed = attribute.given === 'computed' || attribute.given === 'optional-computed';
    return isComputed ? [] : [`${path}: a value for what is not computed`];
  }
  const { type } = attribute;
  if (type.kind === 'value' || !isObject(config)) return [`${path}: does not match the configuration`];
  if (!isObject(planned)) return [`${path}: is absent or unknown although configured`];
  if (type.nesting === 'single') {
    return planProblems(type.attributes, { config, prior: isObject(prior) ? prior : null, planned }, path);
  }
  const earlier = isObject(prior) ? prior : {};
  return [
    ...Object.keys(config)
      .filter((key) => !Object.hasOwn(planned, key))
      .map((key) => `${path}.${key}: not planned`),
    ...Object.entries(planned).flatMap(([key, each]) => {
      const configured = config[key];
      const before = earlier[key];
      if (configured === undefined) return [`${path}.${key}: not in the configuration`];
      if (!isObject(configured) || !isObject(each))
        return equalValues(configured, each) ? [] : [`${path}.${key}: differs`];
      const inner = { config: configured, prior: isObject(before) ? before : null, planned: each };
      return planProblems(type.attributes, inner, `${path}.${key}`);
    }),
  ];
}
