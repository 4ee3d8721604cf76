/**
 * The instances of our resources in a converted configuration, with what their expressions can see: variables, locals, other
 * resources and a state. Modules are followed into their directories.
 */
import { readBody } from '../hcl/read.ts';
import { type Attribute, attributeOf, type Block, blocksOf, type Expression } from '../hcl/syntax.ts';
import type { StateResource } from '../state.ts';
import type { Files } from '../terraform/convert.ts';
import type { Module, ModuleCall, SourceFile } from '../terraform/module.ts';
import { vmidIn } from './entries.ts';
import { entriesOf, evaluate, isObject, NotKnown, type Scope, textOfValue } from './evaluate.ts';
import type { Value } from './value.ts';

export interface ModuleWork {
  readonly files: Files;
  readonly modules: ReadonlyMap<string, Module>;
  readonly state: readonly StateResource[];
  readonly labels: Labels;
  /** Where nothing says how many instances there are: one, with unknown keys, or none. */
  readonly unknownCount: 'one' | 'none';
  /** What could not be computed. */
  left(place: Place, what: string, why: string): void;
}

export interface Place {
  readonly file: SourceFile;
  readonly start: number;
  readonly subject: string;
}

/** One instance of a resource. */
export interface Instance {
  readonly file: SourceFile;
  readonly block: Block;
  readonly type: string;
  readonly name: string;
  /** Its name in a stack. */
  readonly label: string;
  readonly scope: Scope;
  /** What the state has of it. */
  readonly known: Readonly<Record<string, Value>> | undefined;
}

/** Names in a stack: keys that differ only in what such a name cannot have get a number. */
export class Labels {
  private readonly byInstance = new Map<string, string>();
  private readonly used = new Set<string>();

  labelOf(instance: readonly (string | number | undefined)[], preferred: string): string {
    const id = JSON.stringify(instance);
    const known = this.byInstance.get(id);
    if (known !== undefined) return known;
    let label = preferred;
    for (let number = 2; this.used.has(label); number += 1) label = `${preferred}-${number}`;
    this.used.add(label);
    this.byInstance.set(id, label);
    return label;
  }
}

interface Keyed {
  readonly key: string | number | undefined;
  readonly scope: Scope;
}

/** Of modules inside each other. */
const MAX_DEPTH = 20;

/** Arguments of the language itself. */
export const META = new Set(['count', 'for_each', 'depends_on', 'provider']);
const MODULE_META = new Set([...META, 'source', 'version', 'providers']);

/** `terraform.tfvars` and `*.auto.tfvars` of a directory, in Terraform's order. */
export function variableFiles(files: Files, directory: string): ReadonlyMap<string, Value> {
  const inside = directory === '' ? '' : `${directory}/`;
  const paths = [...files.keys()].filter((path) => {
    const name = path.startsWith(inside) ? path.slice(inside.length) : '/';
    return !name.includes('/') && (name === 'terraform.tfvars' || name.endsWith('.auto.tfvars'));
  });
  const rank = (path: string) => Number(!path.endsWith('terraform.tfvars'));
  return new Map(
    paths
      .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
      .flatMap((path) =>
        readBody(files.get(path) ?? '', path).items.flatMap((item) =>
          item.kind === 'attribute' ? [[item.name, evaluate(item.value, () => undefined)] as const] : [],
        ),
      ),
  );
}

/** One use of a module. */
export class ModuleValues {
  private readonly module: Module;
  /** `module.a`, or empty. */
  private readonly address: string;
  /** In front of the names of its VMs. */
  private readonly prefix: string;
  /** Undefined: given, and not known. */
  private readonly given: ReadonlyMap<string, Value | undefined>;
  private readonly work: ModuleWork;
  private readonly locals = new Map<string, { readonly expression: Expression; value?: Value; isOpen?: true }>();

  constructor(
    module: Module,
    work: ModuleWork,
    { address = '', prefix = '', given }: { address?: string; prefix?: string; given: ModuleValues['given'] },
  ) {
    this.module = module;
    this.address = address;
    this.prefix = prefix;
    this.given = given;
    this.work = work;
    for (const { body } of module.files) {
      for (const block of blocksOf(body, 'locals')) {
        for (const item of block.body.items) {
          if (item.kind === 'attribute') this.locals.set(item.name, { expression: item.value });
        }
      }
    }
  }

  /** Of all resources whose type is ours, here and in the modules below. */
  *instances(): Generator<Instance> {
    const calls = new Map(this.module.calls().map((call) => [call.block, call]));
    for (const file of this.module.files) {
      for (const block of file.body.items) {
        if (block.kind !== 'block') continue;
        const call = calls.get(block);
        if (call) yield* this.child(call);
        const [type = '', name = ''] = block.labels.map(({ text }) => text);
        if (block.type !== 'resource' || !isOurs(type)) continue;
        for (const { key, scope } of this.keys(file, block, `${type}.${name}`)) {
          const known = type === 'proxwright_vm' ? this.knownOf(name, key) : undefined;
          yield { file, block, type, name, scope, known, label: this.labelOf(type, name, key) };
        }
      }
    }
  }

  private *child({ file, block, name, directory }: ModuleCall): Generator<Instance> {
    const subject = `module.${name}`;
    const target = directory === undefined ? undefined : this.work.modules.get(directory);
    if (!target || this.isTooDeep) {
      const why = 'The module is not in this directory. Copy it here first.';
      this.work.left({ file, start: block.start, subject }, 'source', why);
      return;
    }
    for (const { key, scope } of this.keys(file, block, subject)) {
      const given = new Map<string, Value | undefined>();
      for (const item of block.body.items) {
        if (item.kind !== 'attribute' || MODULE_META.has(item.name)) continue;
        given.set(
          item.name,
          this.known(file, item, subject, () => evaluate(item.value, scope)),
        );
      }
      const index = key === undefined ? '' : `[${JSON.stringify(key)}]`;
      const address = [this.address, `module.${name}${index}`].filter(Boolean).join('.');
      yield* new ModuleValues(target, this.work, { address, prefix: this.labelled(name, key), given }).instances();
    }
  }

  /** By a module that uses itself, which Terraform refuses. */
  private get isTooDeep(): boolean {
    return this.address.split('module.').length > MAX_DEPTH;
  }

  private labelOf(type: string, name: string, key: string | number | undefined): string {
    return this.work.labels.labelOf([this.address, type, name, key], this.labelled(name, key));
  }

  private labelled(name: string, key: string | number | undefined): string {
    const parts = [this.prefix, name, key].filter((part) => part !== undefined && part !== '');
    return parts.join('-').replace(/[^A-Za-z0-9_-]+/g, '-');
  }

  /** The VM in the state, under its former type or ours. */
  private knownOf(name: string, key: string | number | undefined): Readonly<Record<string, Value>> | undefined {
    return this.work.state.find(
      ({ module, address, index }) =>
        module === this.address &&
        index === key &&
        new RegExp(`^(proxwright_(?:vm|template)|proxmox_[a-z0-9_]*vm2?|proxmox_vm_qemu)\\.${name}$`).test(address),
    )?.values;
  }

  private known<Result>(file: SourceFile, item: Attribute, subject: string, compute: () => Result): Result | undefined {
    try {
      return compute();
    } catch (error) {
      if (!(error instanceof NotKnown)) throw error;
      this.work.left({ file, start: item.start, subject }, item.name, notComputed(error));
      return undefined;
    }
  }

  private keys(file: SourceFile, block: Block, subject: string): readonly Keyed[] {
    const scope = this.scope();
    const [count, each] = [attributeOf(block.body, 'count'), attributeOf(block.body, 'for_each')];
    const byChance: readonly Keyed[] = this.work.unknownCount === 'one' ? [{ key: undefined, scope }] : [];
    if (count) {
      const number = this.known(file, count, subject, () => numberOf(evaluate(count.value, scope)));
      if (number === undefined) return byChance;
      return Array.from({ length: number }, (_, index) => ({
        key: index,
        scope: within(scope, 'count', { index }),
      }));
    }
    if (!each) return [{ key: undefined, scope }];
    const items = this.known(file, each, subject, () => entriesOf(evaluate(each.value, scope)));
    return (
      items?.map(([key, value]) => {
        // A set has no keys but its values.
        const name = typeof key === 'number' ? textOfValue(value) : textOfValue(key);
        return { key: name, scope: within(scope, 'each', { key: name, value }) };
      }) ?? byChance
    );
  }

  private scope(): Scope {
    return (name, path) => {
      const [first = '', second = ''] = path;
      if (name === 'path') return { value: first === 'module' ? this.module.directory || '.' : '.', used: 1 };
      if (name === 'var') return { value: this.variable(first), used: 1 };
      if (name === 'local') return { value: this.local(first), used: 1 };
      if (name === 'terraform' && first === 'workspace') throw new NotKnown('only Terraform knows its workspace');
      if (isOurs(name)) return this.ours(name, first);
      return name === 'data' ? this.fromState(`data.${first}.${second}`, 2) : this.fromState(`${name}.${first}`, 1);
    };
  }

  private variable(name: string): Value {
    const given = this.given.get(name);
    if (given !== undefined) return this.typed(name, given);
    const byDefault = this.variableBlock(name, 'default');
    if (!byDefault || this.given.has(name)) throw new NotKnown(`the variable ${name} has no value`);
    return this.typed(
      name,
      evaluate(byDefault, () => undefined),
    );
  }

  private variableBlock(name: string, argument: string): Expression | undefined {
    for (const { body } of this.module.files) {
      const block = blocksOf(body, 'variable').find(({ labels }) => labels[0]?.text === name);
      const found = block && attributeOf(block.body, argument);
      if (found) return found.value;
    }
    return undefined;
  }

  /** Its type may have optional attributes. */
  private typed(name: string, value: Value): Value {
    const type = this.variableBlock(name, 'type');
    return type ? withOptional(type, value) : value;
  }

  private local(name: string): Value {
    const entry = this.locals.get(name);
    if (!entry || entry.isOpen) throw new NotKnown(`local.${name} is not known here`);
    if (entry.value !== undefined) return entry.value;
    entry.isOpen = true;
    try {
      entry.value = evaluate(entry.expression, this.scope());
    } finally {
      delete entry.isOpen;
    }
    return entry.value;
  }

  /** Another resource of this configuration: the values in its block. */
  private ours(type: string, name: string): { readonly value: Value; readonly used: number } {
    for (const file of this.module.files) {
      const block = blocksOf(file.body, 'resource').find(
        ({ labels }) => labels[0]?.text === type && labels[1]?.text === name,
      );
      if (!block) continue;
      const isMany = attributeOf(block.body, 'count') ?? attributeOf(block.body, 'for_each');
      const all = this.keys(file, block, `${type}.${name}`).map(({ key, scope }) => {
        const vmid = type === 'proxwright_image' ? undefined : vmidIn(this.knownOf(name, key));
        return [
          key,
          {
            ...(type === 'proxwright_image' && { id: `image:${this.labelOf(type, name, key)}` }),
            ...(vmid !== undefined && { vmid }),
            ...readable(block, scope),
          },
        ] as const;
      });
      const [only] = all;
      if (!isMany && only) return { value: only[1], used: 1 };
      if (all.some(([key]) => key === undefined)) throw new NotKnown(`the instances of ${type}.${name} are not known`);
      const isList = all.every(([key]) => typeof key === 'number');
      return { value: isList ? all.map(([, value]) => value) : Object.fromEntries(all), used: 1 };
    }
    throw new NotKnown(`${type}.${name} is not in this configuration`);
  }

  private fromState(address: string, used: number): { value: Value; used: number } | undefined {
    const found = this.work.state.filter((each) => each.module === this.address && each.address === address);
    const [only] = found;
    if (!only) return undefined;
    if (only.index === undefined) return { value: only.values, used };
    const isList = found.every(({ index }) => typeof index === 'number');
    if (isList) return { value: found.map(({ values }) => values), used };
    return { value: Object.fromEntries(found.map(({ index, values }) => [String(index), values])), used };
  }
}

const isOurs = (type: string): boolean => /^proxwright_(?:image|vm|template)$/.test(type);

export const notComputed = ({ message }: NotKnown): string =>
  `Its value cannot be computed: ${message}. Write it, or use --state.`;

function numberOf(value: Value): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new NotKnown('this is not a number of instances');
  return number;
}

/** The attributes of a block that can be computed. */
function readable(block: Block, scope: Scope): Record<string, Value> {
  const values: Record<string, Value> = {};
  for (const item of block.body.items) {
    if (item.kind !== 'attribute' || META.has(item.name)) continue;
    try {
      values[item.name] = evaluate(item.value, scope);
    } catch (error) {
      if (!(error instanceof NotKnown)) throw error;
    }
  }
  return values;
}

/** Attributes that a value leaves out, as `optional(…)` in the type of its variable says. */
function withOptional(type: Expression, value: Value): Value {
  if (type.kind !== 'call' || value === null) return value;
  const [inner, byDefault] = type.args;
  if (!inner) return value;
  if (type.name === 'optional') return withOptional(inner, value);
  if (type.name === 'object' && inner.kind === 'object' && isObject(value)) {
    const result: Record<string, Value> = {};
    for (const { key, value: each } of inner.entries) {
      if (key.kind !== 'literal') return value;
      const name = String(key.value);
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      const isOptional = each.kind === 'call' && each.name === 'optional';
      const absent = isOptional && each.args[1] ? evaluate(each.args[1], () => undefined) : null;
      result[name] = withOptional(each, given === undefined || (given === null && isOptional) ? absent : given);
    }
    return result;
  }
  if ((type.name === 'list' || type.name === 'set' || type.name === 'map') && byDefault === undefined) {
    if (Array.isArray(value)) return value.map((item: Value) => withOptional(inner, item));
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withOptional(inner, item)]));
    }
  }
  return value;
}

function within(scope: Scope, name: string, value: { readonly [name: string]: Value }): Scope {
  return (asked, path) => (asked === name ? { value, used: 0 } : scope(asked, path));
}
