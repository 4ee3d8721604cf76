/** Entries of a stack file from the attributes of our Terraform resources. */
import { isObject } from './evaluate.ts';
import type { Value } from './value.ts';

export type Section = 'vms' | 'images';
type Values = Readonly<Record<string, Value>>;

/** The types and words of Terraform as a stack file has them: `"4"` is a number there, and `"none"` may be `false`. */
export type FieldsOf = (type: string, attributes: Values) => Values;

export interface EntryContext {
  fieldsOf(attributes: Values): Values;
  /** A file that the conversion wrote. */
  fileText(path: string): string | undefined;
  left(what: string, why: string): void;
}

/** Only Terraform has these. */
const TERRAFORM_ONLY = new Set(['timeouts', 'update_group', 'max_unavailable', 'triggers', 'lifecycle']);

export function vmEntry(attributes: Values, known: Values, context: EntryContext): Values {
  const usable: Record<string, Value> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (TERRAFORM_ONLY.has(name)) context.left(name, 'A stack has it in `rollout`, for all VMs.');
    else if (name === 'stop_on_destroy') context.left(name, 'Say it when you destroy: `proxwright destroy --stop`.');
    else usable[name] = value;
  }
  const { cloud_init: cloudInit } = attributes;
  if (cloudInit !== undefined && isObject(cloudInit) && (cloudInit.password_wo ?? null) !== null) {
    context.left('cloud_init.password_wo', 'A stack names where the password is: `password: { env: NAME }`.');
  }
  const fields = context.fieldsOf(usable);
  const entry = Object.keys(usable).flatMap((name) => {
    const value = fields[name];
    return value === undefined ? [] : [[name, inStack(inOrderOf(usable[name], value), context)] as const];
  });
  const vmid = fields.vmid ?? vmidIn(known);
  return { ...Object.fromEntries(entry), ...(vmid !== undefined && { vmid }) };
}

export function imageEntry(attributes: Values, _known: Values, context: EntryContext): Values {
  const { node, timeouts, ...rest } = attributes;
  if (timeouts !== undefined) context.left('timeouts', 'A stack has it in `rollout.timeouts.image`.');
  const fields = Object.entries(context.fieldsOf(rest)).map(([name, value]) => [name, literal(value)] as const);
  return { ...(node !== undefined && { nodes: [node] }), ...Object.fromEntries(fields) };
}

/** A stack file evaluates `${…}` in every text. */
function literal(value: Value): Value {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  return Array.isArray(value) ? value.map((item: Value) => literal(item)) : value;
}

/** A stack refers to its own images, and to files that Terraform reads by their content. A text has no references there. */
function inStack(value: Value, context: EntryContext): Value {
  if (!isObject(value)) return literal(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (DOCUMENTS.has(key) && isObject(each)) return [key, documentOf(each, context)];
      const image = key === 'import_from' || key === 'iso' ? /^image:(.+)$/.exec(String(each))?.[1] : undefined;
      return image === undefined ? [key, inStack(each, context)] : ['image', image];
    }),
  );
}

const DOCUMENTS: ReadonlySet<string> = new Set(['user_data', 'network_data', 'meta_data']);

/** Maps with their keys in the order of another value. */
function inOrderOf(model: Value | undefined, value: Value): Value {
  if (model === undefined || !isObject(model) || !isObject(value)) return value;
  const names = [...Object.keys(model).filter((name) => Object.hasOwn(value, name)), ...Object.keys(value)];
  return Object.fromEntries([...new Set(names)].map((name) => [name, inOrderOf(model[name], value[name] ?? null)]));
}

function documentOf(value: Values, context: EntryContext): Value {
  const text = typeof value.file === 'string' ? context.fileText(value.file) : undefined;
  const document = text === undefined ? value : { text };
  return Object.fromEntries(Object.entries(document).map(([name, each]) => [name, literal(each)]));
}

/** In the state of any of the providers. */
export function vmidIn(known: Values | undefined): number | undefined {
  return lastNumber(known?.vm_id ?? known?.vmid ?? known?.id);
}

function lastNumber(value: Value | undefined): number | undefined {
  const digits = /[1-9]\d*$/.exec(String(value ?? ''))?.[0];
  return digits === undefined ? undefined : Number(digits);
}
