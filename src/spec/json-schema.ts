/**
 * The JSON Schema of the stack file, so that editors complete and check it. It is built from the schemas that resolve the
 * file, with the descriptions of the field table. A `${…}` reference is allowed for every value.
 */
import { z } from 'zod';
import { fieldFacts } from '../kinds/fields/field.ts';
import { vmFieldsSchema } from '../kinds/vm/fields/index.ts';
import {
  addressesSchema,
  diskImageSchema,
  groupKeysSchema,
  NOT_OF_TEMPLATES,
  placementKeysSchema,
  stackFileSchema,
  templateKeysSchema,
} from './stack-schema.ts';

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

const REFERENCE = { $ref: '#/definitions/reference' };
const NULL = { type: 'null', description: 'Undoes a default.' };
const DRAFT = 'http://json-schema.org/draft-07/schema#';

export function stackJsonSchema(): JsonSchema {
  const file = convert(stackFileSchema);
  const sections = propertiesOf(file);
  const vm = vmFields();
  const fields = Object.fromEntries(Object.keys(vm).map((key) => [key, { $ref: `#/definitions/vm_${key}` }]));
  const former = propertiesOf(convert(groupKeysSchema)).formerly;
  const overrides = {
    type: 'object',
    description: 'Fields of individual VMs, by name or number.',
    additionalProperties: closed({ ...fields, formerly: former }),
  };
  const group = closed({
    ...withReferences(propertiesOf(convert(groupKeysSchema))),
    overrides: orElse(overrides, [REFERENCE]),
    ...fields,
  });
  const template = closed({
    ...withReferences(propertiesOf(convert(templateKeysSchema))),
    ...Object.fromEntries(
      Object.entries(fields).filter(
        ([key]) => !Object.hasOwn(NOT_OF_TEMPLATES, key) && !Object.hasOwn(templateKeysSchema.shape, key),
      ),
    ),
  });
  return {
    $schema: DRAFT,
    title: 'Proxwright stack',
    ...file,
    properties: {
      ...withReferences({ ...sections, images: withOneSource(asSchema(sections.images)) }),
      templates: { ...asSchema(sections.templates), additionalProperties: orElse(template, [REFERENCE]) },
      // Read before references are replaced.
      version: sections.version,
      variables: sections.variables,
      defaults: { ...asSchema(sections.defaults), ...closed(fields) },
      vms: { ...asSchema(sections.vms), additionalProperties: group },
    },
    definitions: {
      reference: {
        type: 'string',
        pattern: '\\$\\{',
        description: `A reference: \${var.NAME}, \${stack}, \${number}, \${each}.`,
      },
      ...Object.fromEntries(Object.entries(vm).map(([key, shape]) => [`vm_${key}`, shape])),
    },
  };
}

/** The field table cannot express that an image has either a url or a path. */
function withOneSource(images: JsonSchema): JsonSchema {
  const image = asSchema(images.additionalProperties);
  const from = (source: string, ...without: readonly string[]): JsonSchema => ({
    ...image,
    properties: Object.fromEntries(Object.entries(propertiesOf(image)).filter(([key]) => !without.includes(key))),
    required: [source, ...(Array.isArray(image.required) ? image.required : [])],
  });
  return { ...images, additionalProperties: { anyOf: [from('url', 'path'), from('path', 'url', 'via')] } };
}

/**
 * The fields of a VM before merging: none is required yet, `addresses` may replace `address`, and a disk may use an image
 * of the stack.
 */
function vmFields(): JsonSchema {
  const vm = withoutRequired(convert(vmFieldsSchema.extend(placementKeysSchema.shape)));
  const [addresses, image] = [convert(addressesSchema), convert(diskImageSchema)];
  const shape = mapSchemas(asSchema(vm), (schema) => {
    const properties = asSchema(schema.properties);
    const more = {
      ...(properties.address && properties.gateway ? { addresses } : {}),
      ...(properties.import_from && properties.iso ? { image } : {}),
    };
    return Object.keys(more).length === 0 ? schema : { ...schema, properties: { ...properties, ...more } };
  });
  return withReferences(propertiesOf(shape), [REFERENCE, NULL]);
}

function convert(schema: z.ZodType): JsonSchema {
  const result = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The stack file rejects sizes and durations without a unit, with a hint that JSON Schema cannot express.
      if (isUnitText(zodSchema)) {
        delete jsonSchema.anyOf;
        jsonSchema.type = 'string';
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      const facts = factsOf(zodSchema);
      if (!facts) return;
      jsonSchema.description = facts.description;
      if (facts.examples) jsonSchema.examples = [...facts.examples];
    },
  });
  const { $schema: _, ...rest } = result;
  return rest;
}

function factsOf(schema: z.core.$ZodType) {
  return schema instanceof z.ZodType ? fieldFacts.get(schema) : undefined;
}

/** Fields with a unit accept text or a number and become a number: `byteSize()` and `duration()`. */
function isUnitText(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodPipe && schema.in instanceof z.ZodUnion && schema.out instanceof z.ZodTransform;
}

/** Allows the alternatives for every scalar, list and map of a schema. */
function withReferences(properties: JsonSchema, alternatives: readonly JsonSchema[] = [REFERENCE]): JsonSchema {
  const either = (schema: unknown) => orElse(asSchema(schema), alternatives);
  const inside = (schema: JsonSchema): JsonSchema => {
    const changed: Record<string, unknown> = { ...schema };
    if (isSchema(schema.properties)) changed.properties = mapValues(schema.properties, either);
    for (const keyword of ['additionalProperties', 'items'] as const) {
      if (isSchema(schema[keyword])) changed[keyword] = either(schema[keyword]);
    }
    return changed;
  };
  return mapValues(properties, (schema) => either(mapSchemas(asSchema(schema), inside)));
}

/** Description, examples and default stay outside, where editors look for them. */
function orElse(schema: JsonSchema, alternatives: readonly JsonSchema[]): JsonSchema {
  const { description, examples, default: fallback, ...shape } = schema;
  const needed = alternatives.filter((alternative) => alternative !== REFERENCE || !isFreeText(shape));
  return {
    ...(description !== undefined && { description }),
    ...(examples !== undefined && { examples }),
    ...(fallback !== undefined && { default: fallback }),
    ...(needed.length === 0 ? shape : { anyOf: [shape, ...needed] }),
  };
}

function isFreeText({ type, pattern, enum: options, const: only, maxLength }: JsonSchema): boolean {
  return (
    type === 'string' && pattern === undefined && options === undefined && only === undefined && maxLength === undefined
  );
}

function withoutRequired(schema: JsonSchema): JsonSchema {
  return mapSchemas(schema, ({ required: _, ...rest }) => rest);
}

function closed(properties: JsonSchema): JsonSchema {
  return { type: 'object', properties, additionalProperties: false };
}

/** Changes a schema and every schema inside it, the inner ones first. */
function mapSchemas(schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const inner: Record<string, unknown> = { ...schema };
  if (isSchema(schema.properties)) {
    inner.properties = mapValues(schema.properties, (value) => mapSchemas(asSchema(value), change));
  }
  for (const keyword of ['additionalProperties', 'items'] as const) {
    const value = schema[keyword];
    if (isSchema(value)) inner[keyword] = mapSchemas(value, change);
  }
  if (Array.isArray(schema.anyOf)) inner.anyOf = schema.anyOf.map((option) => mapSchemas(asSchema(option), change));
  return change(inner);
}

function mapValues(schema: JsonSchema, change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, change(value)]));
}

function propertiesOf(schema: JsonSchema): JsonSchema {
  return asSchema(schema.properties);
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asSchema(value: unknown): JsonSchema {
  return isSchema(value) ? value : {};
}
