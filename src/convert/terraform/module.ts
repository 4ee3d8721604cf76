/** What a directory of Terraform files declares: a module, with what a translation needs. */
import {
  type Attribute,
  attributeOf,
  type Block,
  type Body,
  blocksOf,
  childrenOf,
  type Expression,
  type FileBody,
  textOf,
} from '../hcl/syntax.ts';
import type { SourceResource } from '../mapping/rows.ts';
import { sourceOf } from '../mapping/sources.ts';

export interface SourceFile {
  /** Relative to the directory that is converted. */
  readonly path: string;
  readonly text: string;
  readonly body: FileBody;
}

export interface DeclaredResource {
  readonly file: SourceFile;
  readonly block: Block;
  readonly type: string;
  readonly name: string;
  /** Undefined: it stays as it is. */
  readonly source: SourceResource | undefined;
}

export interface ModuleCall {
  readonly file: SourceFile;
  readonly block: Block;
  readonly name: string;
  readonly source: string | undefined;
  /** Undefined: it is outside of the directory that is converted, or comes from a server. */
  readonly directory: string | undefined;
}

export class Module {
  /** Relative; empty for the root. */
  readonly directory: string;
  readonly files: readonly SourceFile[];
  readonly resources: readonly DeclaredResource[];
  private readonly variables: ReadonlyMap<string, Block>;
  private readonly translated: ReadonlyMap<string, DeclaredResource>;
  private optional: ReadonlySet<string> | undefined;

  constructor(directory: string, files: readonly SourceFile[]) {
    this.directory = directory;
    this.files = files;
    this.resources = files.flatMap((file) => blocksOf(file.body, 'resource').flatMap((block) => declared(file, block)));
    this.translated = new Map(
      this.resources.flatMap((each) => (each.source ? [[`${each.type}.${each.name}`, each] as const] : [])),
    );
    this.variables = new Map(
      files.flatMap(({ body }) =>
        blocksOf(body, 'variable').map((block) => [block.labels[0]?.text ?? '', block] as const),
      ),
    );
  }

  find(type: string, name: string): DeclaredResource | undefined {
    return this.translated.get(`${type}.${name}`);
  }

  calls(): readonly ModuleCall[] {
    return this.files.flatMap((file) =>
      blocksOf(file.body, 'module').map((block) => {
        const source = textOf(attributeOf(block.body, 'source')?.value);
        const name = block.labels[0]?.text ?? '';
        return { file, block, name, source, directory: directoryOf(this.directory, source) };
      }),
    );
  }

  /** `required_providers` entries for bpg or Telmate, by their local name. */
  formerProviders(): readonly {
    readonly file: SourceFile;
    readonly entry: Attribute;
    readonly provider: 'bpg' | 'telmate';
  }[] {
    return this.files.flatMap((file) =>
      blocksOf(file.body, 'terraform').flatMap((terraform) =>
        blocksOf(terraform.body, 'required_providers').flatMap((required) =>
          required.body.items.flatMap((entry) => {
            const provider = entry.kind === 'attribute' ? formerProvider(entry) : undefined;
            return entry.kind === 'attribute' && provider ? [{ file, entry, provider }] : [];
          }),
        ),
      ),
    );
  }

  /** The default of a variable, where the expression is one. */
  byDefault(expression: Expression): Expression {
    const [step, more] = expression.kind === 'access' ? expression.steps : [];
    const isVariable =
      expression.kind === 'access' && expression.of.kind === 'variable' && expression.of.name === 'var';
    if (!isVariable || step?.kind !== 'attribute' || more) return expression;
    return attributeOf(this.variables.get(step.name)?.body ?? EMPTY, 'default')?.value ?? expression;
  }

  /** By a literal null in it, a variable that may be null, or an optional attribute of one. */
  mayBeNull(expression: Expression): boolean {
    if (expression.kind === 'literal') return expression.value === null;
    if (expression.kind === 'call' && expression.name === 'coalesce') return false;
    if (expression.kind === 'template') return false;
    if (expression.kind === 'access') return this.accessMayBeNull(expression);
    return childrenOf(expression).some((child) => this.mayBeNull(child));
  }

  private accessMayBeNull({ of, steps }: Extract<Expression, { kind: 'access' }>): boolean {
    if (of.kind !== 'variable') return this.mayBeNull(of);
    const [first] = steps;
    const name = first?.kind === 'attribute' ? first.name : '';
    if (of.name === 'var' && steps.length === 1) {
      const byDefault =
        this.variables.get(name) && attributeOf(this.variables.get(name)?.body ?? EMPTY, 'default')?.value;
      return byDefault?.kind === 'literal' && byDefault.value === null;
    }
    // An attribute of an object: by whether any type of this module has it as optional and without a default, or any object as null.
    const last = steps.at(-1);
    return last?.kind === 'attribute' && this.optionalNames.has(last.name);
  }

  private get optionalNames(): ReadonlySet<string> {
    this.optional ??= this.readOptionalNames();
    return this.optional;
  }

  private readOptionalNames(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const block of this.variables.values()) {
      const type = attributeOf(block.body, 'type')?.value;
      if (type) collectOptional(type, names);
    }
    for (const { body } of this.files) collectNulls(body, names);
    return names;
  }
}

const EMPTY: Body = { start: 0, end: 0, items: [] };

function declared(file: SourceFile, block: Block): readonly DeclaredResource[] {
  const [type, name] = block.labels;
  if (!type || !name) return [];
  const source = sourceOf(type.text);
  const content = textOf(attributeOf(block.body, 'content_type')?.value);
  // Templates of containers stay with their provider.
  const isOurs =
    source && !(source.to === 'proxwright_image' && content !== undefined && !['iso', 'import'].includes(content));
  return [{ file, block, type: type.text, name: name.text, source: isOurs ? source : undefined }];
}

function collectOptional(expression: Expression, names: Set<string>): void {
  if (expression.kind === 'object') {
    for (const { key, value } of expression.entries) {
      const isOptional = value.kind === 'call' && value.name === 'optional' && value.args.length === 1;
      if (isOptional && key.kind === 'literal') names.add(String(key.value));
    }
  }
  for (const child of childrenOf(expression)) collectOptional(child, names);
}

/** `{ size = null }`: somebody thought of it. */
function collectNulls(body: Body, names: Set<string>): void {
  const visit = (expression: Expression): void => {
    if (expression.kind === 'object') {
      for (const { key, value } of expression.entries) {
        const isNull = value.kind === 'literal' && value.value === null;
        if (isNull && key.kind === 'literal') names.add(String(key.value));
      }
    }
    childrenOf(expression).forEach(visit);
  };
  for (const item of body.items) {
    if (item.kind === 'attribute') visit(item.value);
    else collectNulls(item.body, names);
  }
}

/** By the source address; a shortened one belongs to the public registry. */
export function formerProvider(entry: Attribute): 'bpg' | 'telmate' | undefined {
  const { value } = entry;
  const source =
    value.kind === 'object'
      ? value.entries.find(({ key }) => key.kind === 'literal' && key.value === 'source')?.value
      : value;
  const address = textOf(source)?.toLowerCase() ?? '';
  if (/(^|\/)bpg\/proxmox$/.test(address)) return 'bpg';
  return /(^|\/)(telmate|thegameprofi|terraform-for-proxmox)\/proxmox$/.test(address) ? 'telmate' : undefined;
}

/** Of a module that another one names: `../vm`, from where that one is. Undefined: it is outside of what is converted, or elsewhere. */
function directoryOf(directory: string, source: string | undefined): string | undefined {
  if (!source?.startsWith('.')) return undefined;
  const parts = directory === '' ? [] : directory.split('/');
  for (const part of source.split('/')) {
    if (part === '..' && parts.length === 0) return undefined;
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}
