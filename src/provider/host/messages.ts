/** The provider's terms in the messages of the protocol and back: schemas, values, and problems at places the host can find. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import { decodeJson, fromJson } from '../cty/json.ts';
import { type Json, parseJson } from '../cty/json-text.ts';
import { KnownValues } from '../cty/known-values.ts';
import { type AttributePath, CtyError, formatPath, type PathStep } from '../cty/path.ts';
import { type CtyObject, type CtyValue, isObject } from '../cty/value.ts';
import {
  type AttributePath_StepSchema,
  type AttributePathSchema,
  Diagnostic_Severity,
  type DynamicValue,
  type RawState,
  type Schema_AttributeSchema,
  Schema_Object_NestingMode,
  type SchemaSchema,
  StringKind,
} from '../protocol/generated/tfplugin6.generated.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { type Attribute, type Attributes, objectType, type Schema } from '../schema/model.ts';
import { inHostLanguage } from '../values/host-language.ts';

export function schemaMessage(schema: Schema): MessageInitShape<typeof SchemaSchema> {
  return {
    version: BigInt(schema.version),
    block: {
      version: BigInt(schema.version),
      description: schema.description,
      descriptionKind: StringKind.MARKDOWN,
      attributes: attributeMessages(schema.attributes),
    },
  };
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

const known = new WeakMap<Schema, KnownValues>();

function valuesOf(schema: Schema): KnownValues {
  let values = known.get(schema);
  if (values === undefined) {
    values = new KnownValues(objectType(schema.attributes));
    known.set(schema, values);
  }
  return values;
}

/** As we write it. */
type ValueMessage = Pick<DynamicValue, 'msgpack'>;

/** Null where there is no object. A host never sends an object that is unknown as a whole. */
export function readObject(message: DynamicValue | undefined, schema: Schema): CtyObject | null {
  const value = readValue(message, valuesOf(schema));
  if (value === null || isObject(value)) return value;
  throw new CtyError([], 'expected an object');
}

/** A configuration is always an object. */
export function readConfig(message: DynamicValue | undefined, schema: Schema): CtyObject {
  const value = readObject(message, schema);
  if (value === null) throw new CtyError([], 'the configuration is missing');
  return value;
}

export function writeObject(value: CtyObject | null, schema: Schema): ValueMessage {
  return { msgpack: valuesOf(schema).encode(value) };
}

/** An object made from stored data, completed by the current schema. */
export function writeStored(state: unknown, schema: Schema): ValueMessage {
  const values = valuesOf(schema);
  return { msgpack: values.encode(fromJson(state, values.type)) };
}

/** Null where nothing is stored. */
export function readStored(state: RawState | undefined): Json {
  return state === undefined || state.json.length === 0 ? null : parseJson(Buffer.from(state.json).toString('utf8'));
}

function readValue(message: DynamicValue | undefined, values: KnownValues): CtyValue {
  if (message === undefined) return null;
  if (message.msgpack.length > 0) return values.decode(message.msgpack);
  return message.json.length > 0 ? decodeJson(message.json, values.type) : null;
}

export interface DiagnosticMessage {
  readonly severity: Diagnostic_Severity;
  readonly summary: string;
  readonly detail: string;
  readonly attribute?: PathMessage;
}

type PathMessage = MessageInitShape<typeof AttributePathSchema>;

export function diagnosticMessages(diagnostics: readonly ProviderDiagnostic[], schema: Schema): DiagnosticMessage[] {
  return diagnostics.map((diagnostic) => diagnosticMessage(diagnostic, schema.attributes));
}

export function diagnosticMessage(diagnostic: ProviderDiagnostic, attributes: Attributes): DiagnosticMessage {
  const { severity, summary, detail, path = [] } = diagnostic;
  const found = findable(path, attributes);
  const isNamed = found.length === path.length;
  return {
    severity: severity === 'error' ? Diagnostic_Severity.ERROR : Diagnostic_Severity.WARNING,
    summary,
    detail: isNamed ? detail : `${detail}\n\nThis is about ${formatPath(path)}.`,
    ...(found.length > 0 && { attribute: pathMessage(found) }),
  };
}

/**
 * The host finds the line of an attribute and of one element in it. For a longer path it would show the first line of the
 * whole block instead. Elements of sets have no address at all.
 */
function findable(path: AttributePath, attributes: Attributes): AttributePath {
  const [first, second] = path;
  if (first?.kind !== 'attribute') return [];
  if (second === undefined || second.kind === 'attribute') return [first];
  const type = Object.hasOwn(attributes, first.name) ? attributes[first.name]?.type : undefined;
  const isSet = type?.kind === 'value' && Array.isArray(type.type) && type.type[0] === 'set';
  return isSet ? [first] : [first, second];
}

export function pathMessage(path: AttributePath): PathMessage {
  return { steps: path.map((step) => ({ selector: selectorOf(step) })) };
}

type Selector = NonNullable<MessageInitShape<typeof AttributePath_StepSchema>['selector']>;

function selectorOf(step: PathStep): Selector {
  if (step.kind === 'attribute') return { case: 'attributeName', value: step.name };
  if (step.kind === 'key') return { case: 'elementKeyString', value: step.key };
  return { case: 'elementKeyInt', value: BigInt(step.index) };
}

/** Whatever was thrown, for the user. Our own errors explain themselves; everything else is a defect. */
export function diagnosticOfThrown(thrown: unknown, call: string): ProviderDiagnostic {
  if (thrown instanceof ProxwrightError && !isFamily(thrown, 'bug')) {
    const { summary, detail, hint } = thrown.diagnostic;
    return { severity: 'error', summary, detail: hint === undefined ? detail : `${detail}\n\n${inHostLanguage(hint)}` };
  }
  const reason = isFamily(thrown, 'bug')
    ? thrown.diagnostic.detail
    : thrown instanceof Error
      ? thrown.message
      : String(thrown);
  return {
    severity: 'error',
    summary: 'Internal error',
    detail: [
      `${call} failed: ${reason.replace(/\.?$/, '.')}`,
      'This is a defect of terraform-provider-proxwright and not of your configuration. Please report it, together with ' +
        'what TF_LOG_PROVIDER=debug shows around it.',
    ].join('\n\n'),
  };
}
