/**
 * Cloud-init snippets that a configuration uploads with `proxmox_virtual_environment_file`. Their text becomes a file
 * next to the configuration, or a local value if it has interpolations; VMs use it as `cloud_init.user_data`.
 */
import { attributeOf, type Block, type Body, blocksOf, childrenOf, type Expression, textOf } from '../hcl/syntax.ts';
import type { DeclaredResource, Module } from './module.ts';
import { type References, rewritten } from './references.ts';

export const SNIPPET_TYPE = 'proxmox_virtual_environment_file';
const USES = /^(user|network|meta)_data_file_id$/;

export interface Snippet {
  readonly resource: DeclaredResource;
  /** What replaces the resource. */
  readonly replacement: string;
  /** A file to write, next to the file of the resource. */
  readonly file?: { readonly path: string; readonly text: string };
  /** The storage that has it, as HCL; it usually takes ISO images too. */
  readonly storage?: string;
  /** What a VM sets, given the steps between the name and `.id`. */
  use(index: string | undefined): string;
}

/** Names that are still free, for what replaces a snippet. */
class FreeNames {
  private readonly taken: Set<string>;

  constructor(taken: Iterable<string>) {
    this.taken = new Set(taken);
  }

  /** The first of these that is free, or the last one with something after it. */
  take(choices: readonly string[], next: (name: string, number: number) => string): string {
    const last = choices.at(-1) ?? '';
    let name = choices.find((each) => !this.taken.has(each));
    for (let number = 2; name === undefined; number += 1) {
      const choice = next(last, number);
      if (!this.taken.has(choice)) name = choice;
    }
    this.taken.add(name);
    return name;
  }
}

interface Names {
  readonly locals: FreeNames;
  /** Of files, from the directory of the module. */
  readonly files: FreeNames;
}

/** Those that nothing but VMs of this module use. `taken`: files that exist, from the directory that is converted. */
export function snippetsOf(
  module: Module,
  references: References,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, Snippet> {
  const found = new Map<string, Snippet>();
  const inside = module.directory === '' ? '' : `${module.directory}/`;
  const names = {
    locals: new FreeNames(localsOf(module)),
    files: new FreeNames([...taken].flatMap((path) => (path.startsWith(inside) ? [path.slice(inside.length)] : []))),
  };
  for (const resource of module.resources) {
    if (resource.type !== SNIPPET_TYPE || !isOnlyForVms(module, resource)) continue;
    const snippet = snippetOf(resource, references, names);
    const storage = attributeOf(resource.block.body, 'datastore_id')?.value;
    const text = storage && rewritten(storage, resource.file.text, references);
    // The loop of the resource is not the loop of the VM.
    const isOwn = text === undefined || /\b(each|count)\./.test(text);
    if (snippet) found.set(resource.name, { ...snippet, ...(!isOwn && { storage: text }) });
  }
  return found;
}

/** The name and the index in `proxmox_virtual_environment_file.name[index].id`. */
function snippetReference(expression: Expression, source: string): { name: string; index?: string } | undefined {
  if (expression.kind !== 'access' || expression.of.kind !== 'variable' || expression.of.name !== SNIPPET_TYPE)
    return undefined;
  const [label, ...rest] = expression.steps;
  const last = rest.at(-1);
  if (label?.kind !== 'attribute' || last?.kind !== 'attribute' || last.name !== 'id' || rest.length > 2)
    return undefined;
  const [index] = rest;
  return {
    name: label.name,
    ...(index?.kind === 'index' && { index: source.slice(index.key.start, index.key.end) }),
  };
}

const isNull = (expression: Expression): boolean => expression.kind === 'literal' && expression.value === null;

/** A snippet, or one under a condition. */
function isTranslatable(expression: Expression): boolean {
  if (expression.kind === 'parentheses') return isTranslatable(expression.value);
  if (expression.kind !== 'conditional') return snippetReference(expression, '') !== undefined;
  const branches = [expression.yes, expression.no].filter((each) => !isNull(each));
  return branches.length === 1 && branches.every(isTranslatable);
}

/** What a VM sets: the content of a snippet, or null where a condition says so. */
export function snippetContent(
  expression: Expression,
  source: string,
  snippets: ReadonlyMap<string, Snippet>,
  references: References,
): { readonly content: string; readonly storage?: string | undefined } | undefined {
  if (expression.kind === 'parentheses') return snippetContent(expression.value, source, snippets, references);
  if (expression.kind === 'conditional') {
    const isYes = !isNull(expression.yes);
    const inner = snippetContent(isYes ? expression.yes : expression.no, source, snippets, references);
    const condition = rewritten(expression.condition, source, references);
    const branches = isYes ? `${inner?.content} : null` : `null : ${inner?.content}`;
    return inner && isTranslatable(expression) ? { ...inner, content: `${condition} ? ${branches}` } : undefined;
  }
  const reference = snippetReference(expression, source);
  const snippet = reference && snippets.get(reference.name);
  return snippet && { content: snippet.use(reference.index), storage: snippet.storage };
}

function isOnlyForVms(module: Module, { name }: DeclaredResource): boolean {
  const uses = module.files.flatMap(({ body }) => usesIn(body, name, false));
  return uses.length > 0 && uses.every((isByVm) => isByVm);
}

function usesIn(body: Body, name: string, inVm: boolean): boolean[] {
  return body.items.flatMap((item) => {
    if (item.kind === 'block') {
      const isVm = item.type === 'resource' && /_vm$|_vm2$/.test(item.labels[0]?.text ?? '');
      return usesIn(item.body, name, inVm || isVm);
    }
    return mentions(item.value, name) ? [inVm && USES.test(item.name) && isTranslatable(item.value)] : [];
  });
}

function mentions(expression: Expression, name: string): boolean {
  if (expression.kind === 'access' && expression.of.kind === 'variable' && expression.of.name === SNIPPET_TYPE) {
    const [label] = expression.steps;
    if (label?.kind === 'attribute' && label.name === name) return true;
  }
  return childrenOf(expression).some((child) => mentions(child, name));
}

function snippetOf(resource: DeclaredResource, references: References, names: Names): Snippet | undefined {
  const { block, file, name } = resource;
  if (textOf(attributeOf(block.body, 'content_type')?.value) !== 'snippets') return undefined;
  const raw = blocksOf(block.body, 'source_raw')[0];
  const path = attributeOf(blocksOf(block.body, 'source_file')[0]?.body ?? EMPTY, 'path')?.value;
  const data = raw && attributeOf(raw.body, 'data')?.value;
  const many = loopOf(block);
  if (path && !many) return byPath(resource, rewritten(path, file.text, references));
  if (!data) return undefined;
  if (!many && data.kind === 'literal' && typeof data.value === 'string')
    return asFile(resource, raw, data.value, names);
  if (!many && data.kind === 'call' && data.name === 'file' && data.args[0]) {
    return byPath(resource, rewritten(data.args[0], file.text, references));
  }
  const local = names.locals.take(
    [`${name.replaceAll('-', '_')}_data`],
    (taken, number) => `${taken}_snippet${number === 2 ? '' : number}`,
  );
  const text = rewritten(data, file.text, many ? loopReferences(references) : references);
  const value = many ? loopText(many, text, file.text, references) : text;
  return {
    resource,
    replacement: `locals {\n  ${local} = ${value}\n}`,
    use: (index) => `{ text = local.${local}${index === undefined ? '' : `[${index}]`} }`,
  };
}

const EMPTY: Body = { start: 0, end: 0, items: [] };

function byPath(resource: DeclaredResource, path: string): Snippet {
  return {
    resource,
    replacement: `# The VMs read the file of the snippet "${resource.name}" themselves.`,
    use: () => `{ file = ${path} }`,
  };
}

function asFile(resource: DeclaredResource, raw: Block | undefined, text: string, names: Names): Snippet {
  const named = textOf(raw && attributeOf(raw.body, 'file_name')?.value);
  const choices = [...(named !== undefined && /^[\w-][\w.-]*$/.test(named) ? [named] : []), `${resource.name}.yaml`];
  const path = names.files.take(
    choices.map((choice) => `cloud-init/${choice}`),
    (taken, number) => taken.replace(/\.yaml$/, `-${number}.yaml`),
  );
  return {
    resource,
    replacement: `# The snippet "${resource.name}" is the file ${path} now.`,
    file: { path, text },
    use: () => `{ file = "\${path.module}/${path}" }`,
  };
}

interface SnippetLoop {
  readonly kind: 'count' | 'for_each';
  readonly over: Expression;
}

function loopOf({ body }: Block): SnippetLoop | undefined {
  const [count, each] = [attributeOf(body, 'count'), attributeOf(body, 'for_each')];
  if (each) return { kind: 'for_each', over: each.value };
  return count && { kind: 'count', over: count.value };
}

/** `each.key` and `count.index` are the variables of a `for` expression here. */
function loopReferences(references: References): References {
  return {
    find: (type, name) => references.find(type, name),
    problem: (problem) => references.problem(problem),
    replace: (access) => {
      const [step] = access.steps;
      if (access.of.kind !== 'variable' || step?.kind !== 'attribute') return undefined;
      const isLoop = access.of.name === 'each' || access.of.name === 'count';
      return isLoop ? { start: access.start, end: step.end, text: `${access.of.name}_${step.name}` } : undefined;
    },
  };
}

/** A heredoc ends its line, so the brace comes on the next one. */
function loopText({ kind, over }: SnippetLoop, text: string, source: string, references: References): string {
  const through = rewritten(over, source, references);
  return kind === 'for_each'
    ? `{\n    for each_key, each_value in ${through} : each_key => ${text}\n  }`
    : `[\n    for count_index in range(${through}) : ${text}\n  ]`;
}

function localsOf(module: Module): readonly string[] {
  return module.files.flatMap(({ body }) =>
    blocksOf(body, 'locals').flatMap((block) =>
      block.body.items.map((item) => (item.kind === 'attribute' ? item.name : '')),
    ),
  );
}
