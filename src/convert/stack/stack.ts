/**
 * A converted configuration as a stack file: every value computed, each instance of `count` and `for_each` on its own. What
 * only Terraform or a server knows comes from a state, or is left out and reported.
 */
import { stringify } from 'yaml';
import { readBody } from '../hcl/read.ts';
import { positionOf } from '../hcl/scanner.ts';
import { type Attribute, attributeOf, type Block, blocksOf, type Expression, textOf } from '../hcl/syntax.ts';
import type { Finding } from '../report.ts';
import type { StateResource } from '../state.ts';
import { type Files, readModules } from '../terraform/convert.ts';
import { directoryOf, type Module, type SourceFile } from '../terraform/module.ts';
import { imageEntry, type Section, vmEntry, vmidIn } from './entries.ts';
import { entriesOf, evaluate, NotKnown, type Scope, textOfValue } from './evaluate.ts';
import type { Value } from './value.ts';

export interface StackInput {
  /** The converted files, and files of variables. */
  readonly files: Files;
  readonly name: string;
  readonly state?: readonly StateResource[];
}

export interface StackResult {
  readonly text: string;
  readonly findings: readonly Finding[];
}

export function stackOf({ files, name, state = [] }: StackInput): StackResult {
  const modules = new Map(readModules(files).map((module) => [module.directory, module]));
  const root = modules.get('');
  const findings: Finding[] = [];
  const sections: Record<Section, Record<string, unknown>> = { images: {}, vms: {} };
  if (root) {
    const work = { files, modules, findings, sections, state };
    new ModuleValues(root, '', '', variableFiles(files), work).collect();
  }
  const used = Object.fromEntries(Object.entries(sections).filter(([, entries]) => Object.keys(entries).length > 0));
  const body = stringify({ version: 1, stack: name, ...used }, { lineWidth: 0 });
  return { text: `# yaml-language-server: $schema=./stack.schema.json\n${body}`, findings };
}

/** `terraform.tfvars` and `*.auto.tfvars`, in Terraform's order. */
function variableFiles(files: Files): ReadonlyMap<string, Value> {
  const paths = [...files.keys()].filter((path) => path === 'terraform.tfvars' || /^[^/]+\.auto\.tfvars$/.test(path));
  const nothing: Scope = () => undefined;
  return new Map(
    paths
      .sort((a, b) => Number(b === 'terraform.tfvars') - Number(a === 'terraform.tfvars') || a.localeCompare(b))
      .flatMap((path) =>
        readBody(files.get(path) ?? '', path).items.flatMap((item) =>
          item.kind === 'attribute' ? [[item.name, evaluate(item.value, nothing)] as const] : [],
        ),
      ),
  );
}

interface Work {
  readonly files: Files;
  readonly modules: ReadonlyMap<string, Module>;
  readonly findings: Finding[];
  readonly sections: Record<Section, Record<string, unknown>>;
  readonly state: readonly StateResource[];
}

interface Instance {
  readonly key: string | number | undefined;
  readonly scope: Scope;
}

const SECTIONS: Readonly<Record<string, Section>> = {
  proxwright_vm: 'vms',
  proxwright_image: 'images',
};

/** Of one use of a module. */
class ModuleValues {
  private readonly module: Module;
  /** `module.a`, or empty. */
  private readonly address: string;
  /** In front of the names of its VMs. */
  private readonly prefix: string;
  private readonly given: ReadonlyMap<string, Value>;
  private readonly work: Work;
  private readonly locals = new Map<string, { readonly expression: Expression; value?: Value; isOpen?: true }>();

  constructor(module: Module, address: string, prefix: string, given: ReadonlyMap<string, Value>, work: Work) {
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

  collect(): void {
    for (const file of this.module.files) {
      for (const item of file.body.items) {
        if (item.kind !== 'block') continue;
        if (item.type === 'module') this.child(file, item);
        const section = item.type === 'resource' ? SECTIONS[item.labels[0]?.text ?? ''] : undefined;
        if (section) this.resource(file, item, section);
        else if (item.type === 'resource' && item.labels[0]?.text === 'proxwright_template') this.template(file, item);
      }
    }
  }

  private resource(file: SourceFile, block: Block, section: Section): void {
    const [type = '', name = ''] = block.labels.map(({ text }) => text);
    const subject = `${type}.${name}`;
    for (const { key, scope } of this.instances(file, block, subject)) {
      const attributes = this.attributes(file, block, scope, subject);
      const known = section === 'vms' ? this.knownOf(name, key) : undefined;
      const entry = ENTRIES[section](attributes, known ?? {}, {
        fileText: (path) => this.work.files.get(path.replace(/^\.\//, '')),
        left: (what, why) => this.left(file, block, subject, what, why),
      });
      this.work.sections[section][this.labelOf(name, key)] = entry;
    }
  }

  /** The plan refuses a template that exists and that the stack did not build. */
  private template(file: SourceFile, block: Block): void {
    const { line } = positionOf(file.text, block.start);
    const subject = `proxwright_template.${block.labels[1]?.text}`;
    const why =
      'The template exists, and VMs are cloned from it as it is. A stack can build the next one: write it under `templates`, with another name.';
    this.work.findings.push({ kind: 'dropped', file: file.path, line, subject, what: 'template', why });
  }

  /** The name of an entry. */
  private labelOf(name: string, key: string | number | undefined): string {
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

  private attributes(file: SourceFile, block: Block, scope: Scope, subject: string): Record<string, Value> {
    const result: Record<string, Value> = {};
    for (const item of block.body.items) {
      if (item.kind !== 'attribute' || ['count', 'for_each', 'depends_on', 'provider'].includes(item.name)) continue;
      const value = this.known(file, item, subject, () => evaluate(item.value, scope));
      if (value !== undefined && value !== null) result[item.name] = value;
    }
    return result;
  }

  private known<Result>(file: SourceFile, item: Attribute, subject: string, compute: () => Result): Result | undefined {
    try {
      return compute();
    } catch (error) {
      if (!(error instanceof NotKnown)) throw error;
      this.left(
        file,
        item,
        subject,
        item.name,
        `Its value cannot be computed: ${error.message}. Write it, or use --state.`,
      );
      return undefined;
    }
  }

  private left(
    file: SourceFile,
    { start }: { readonly start: number },
    subject: string,
    what: string,
    why: string,
  ): void {
    const { line } = positionOf(file.text, start);
    this.work.findings.push({ kind: 'left', file: file.path, line, subject, what, why });
  }

  private instances(file: SourceFile, block: Block, subject: string): readonly Instance[] {
    const scope = this.scope();
    const [count, each] = [attributeOf(block.body, 'count'), attributeOf(block.body, 'for_each')];
    if (count) {
      const number = this.known(file, count, subject, () => Number(evaluate(count.value, scope))) ?? 0;
      return Array.from({ length: number }, (_, index) => ({
        key: index,
        scope: within(scope, 'count', { index }),
      }));
    }
    if (!each) return [{ key: undefined, scope }];
    const items = this.known(file, each, subject, () => entriesOf(evaluate(each.value, scope))) ?? [];
    return items.map(([key, value]) => {
      // A set has no keys but its values.
      const name = typeof key === 'number' ? textOfValue(value) : textOfValue(key);
      return { key: name, scope: within(scope, 'each', { key: name, value }) };
    });
  }

  private child(file: SourceFile, block: Block): void {
    const name = block.labels[0]?.text ?? '';
    const source = textOf(attributeOf(block.body, 'source')?.value);
    const target = source?.startsWith('.')
      ? this.work.modules.get(directoryOf(this.module.directory, source))
      : undefined;
    if (!target) {
      this.left(file, block, `module.${name}`, 'source', 'The module is not in this directory. Copy it here first.');
      return;
    }
    for (const { key, scope } of this.instances(file, block, `module.${name}`)) {
      const given = new Map<string, Value>();
      for (const item of block.body.items) {
        if (
          item.kind !== 'attribute' ||
          ['source', 'version', 'count', 'for_each', 'providers', 'depends_on'].includes(item.name)
        )
          continue;
        const value = this.known(file, item, `module.${name}`, () => evaluate(item.value, scope));
        if (value !== undefined) given.set(item.name, value);
      }
      const index = key === undefined ? '' : `[${JSON.stringify(key)}]`;
      const address = [this.address, `module.${name}${index}`].filter(Boolean).join('.');
      const prefix = [this.prefix, name, key].filter((part) => part !== undefined && part !== '').join('-');
      new ModuleValues(target, address, prefix, given, this.work).collect();
    }
  }

  private scope(): Scope {
    return (name, path) => {
      const [first = '', second = ''] = path;
      if (name === 'path') return { value: first === 'module' ? this.module.directory || '.' : '.', used: 1 };
      if (name === 'var') return { value: this.variable(first), used: 1 };
      if (name === 'local') return { value: this.local(first), used: 1 };
      if (name === 'terraform' && first === 'workspace') return { value: 'default', used: 1 };
      const own = name === 'proxwright_image' || name === 'proxwright_vm' || name === 'proxwright_template';
      if (own) return this.ours(name, first);
      return name === 'data' ? this.fromState(`data.${first}.${second}`, 2) : this.fromState(`${name}.${first}`, 1);
    };
  }

  private variable(name: string): Value {
    const given = this.given.get(name);
    if (given !== undefined) return given;
    for (const { body } of this.module.files) {
      const block = blocksOf(body, 'variable').find(({ labels }) => labels[0]?.text === name);
      const byDefault = block && attributeOf(block.body, 'default');
      if (byDefault) return evaluate(byDefault.value, () => undefined);
    }
    throw new NotKnown(`the variable ${name} has no value`);
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
      const all = this.instances(file, block, `${type}.${name}`).map(({ key, scope }) => {
        const values: Record<string, Value> = {};
        for (const item of block.body.items) {
          if (item.kind !== 'attribute' || ['count', 'for_each'].includes(item.name)) continue;
          try {
            values[item.name] = evaluate(item.value, scope);
          } catch (error) {
            if (!(error instanceof NotKnown)) throw error;
          }
        }
        const vmid = type === 'proxwright_image' ? undefined : vmidIn(this.knownOf(name, key));
        return [
          key,
          {
            ...(type === 'proxwright_image' && { id: `image:${this.labelOf(name, key)}` }),
            ...(vmid !== undefined && { vmid }),
            ...values,
          },
        ] as const;
      });
      const [only] = all;
      if (!isMany && only) return { value: only[1], used: 1 };
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

const ENTRIES = { vms: vmEntry, images: imageEntry } as const;

function within(scope: Scope, name: string, value: { readonly [name: string]: Value }): Scope {
  return (asked, path) => (asked === name ? { value, used: 0 } : scope(asked, path));
}
