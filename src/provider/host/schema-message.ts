/** Schemas in the words of the protocol. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type Schema_AttributeSchema,
  Schema_Object_NestingMode,
  type Schema as SchemaMessage,
  SchemaSchema,
  StringKind,
} from '../protocol/generated/tfplugin6.generated.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';

export function schemaMessage(schema: Schema): SchemaMessage {
  return create(SchemaSchema, {
    version: BigInt(schema.version),
    block: {
      version: BigInt(schema.version),
      description: schema.description,
      descriptionKind: StringKind.MARKDOWN,
      attributes: attributeMessages(schema.attributes),
    },
  });
}

type AttributeMessage = MessageInitShape<typeof Schema_AttributeSchema>;

const NESTING = {
  single: Schema_Object_NestingMode.SINGLE,
  list: Schema_Object_NestingMode.LIST,
  map: Schema_Object_NestingMode.MAP,
} as const;

function attributeMessages(attributes: Attributes): AttributeMessage[] {
  return Object.entries(attributes).map(([name, attribute]) => attributeMessage(name, attribute));
}

function attributeMessage(name: string, attribute: Attribute): AttributeMessage {
  const { type, given } = attribute;
  return {
    name,
    description: attribute.description,
    descriptionKind: StringKind.MARKDOWN,
    required: given === 'required',
    optional: given === 'optional' || given === 'optional-computed',
    computed: given === 'computed' || given === 'optional-computed',
    sensitive: attribute.sensitive ?? false,
    writeOnly: attribute.writeOnly ?? false,
    deprecated: attribute.deprecated ?? false,
    ...(type.kind === 'value'
      ? { type: Buffer.from(JSON.stringify(type.type)) }
      : { nestedType: { nesting: NESTING[type.nesting], attributes: attributeMessages(type.attributes) } }),
  };
}
