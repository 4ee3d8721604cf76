/** Every resource that a conversion wrote, with the values that can be known without Terraform, so that they can be checked. */
import { positionOf } from '../hcl/scanner.ts';
import { attributeOf, type Block, type Body, blocksOf, type Expression, textOf } from '../hcl/syntax.ts';
import { isBlockRow, type Row } from '../mapping/rows.ts';
import type { StateResource } from '../state.ts';
import { type Files, readModules } from '../terraform/convert.ts';
import type { DeclaredResource, Module } from '../terraform/module.ts';
import { evaluate, NotKnown, type Scope } from './evaluate.ts';
import { Labels, META, ModuleValues, variableFiles } from './module-values.ts';
import type { Value } from './value.ts';

/** Undefined: not known here. */
export type PartialValue = Value | undefined | readonly PartialValue[] | { readonly [name: string]: PartialValue };

export interface KnownResource {
  /** `proxwright_vm`. */
  readonly type: string;
  readonly attributes: Readonly<Record<string, PartialValue>>;
  /** Of the former configuration. */
  readonly file: string;
  readonly subject: string;
  /** The line there that an attribute comes from, or the one of the resource. */
  lineOf(path: string): number;
}

export interface KnownInput {
  /** The converted files, and files of variables. */
  readonly files: Files;
  /** Of the former configuration. */
  readonly modules: readonly Module[];
  readonly state?: readonly StateResource[] | undefined;
}

export function* knownResources({ files, modules: former, state = [] }: KnownInput): Generator<KnownResource> {
  const modules = new Map(readModules(files).map((module) => [module.directory, module]));
  const work = { files, modules, state, labels: new Labels(), unknownCount: 'one', left: () => {} } as const;
  const origins = originsIn(former);
  for (const root of rootsOf([...modules.values()])) {
    const given = variableFiles(files, root.directory);
    for (const { file, block, type, name, scope } of new ModuleValues(root, work, { given }).instances()) {
      const origin = origins.get(originKey(file.path, type, name));
      if (!origin) continue;
      yield {
        type,
        attributes: partialAttributes(block, scope),
        file: origin.file.path,
        subject: `${origin.type}.${origin.name}`,
        lineOf: (path) => positionOf(origin.file.text, placeOf(origin, path)).line,
      };
    }
  }
}

/** Those that no other module uses; one that is used gets its variables there. */
function rootsOf(modules: readonly Module[]): readonly Module[] {
  const used = new Set(modules.flatMap((module) => module.calls().map(({ directory }) => directory)));
  return modules.filter(({ directory }) => !used.has(directory));
}

/** The resources from which ours were made: in the same file, under the same name. */
function originsIn(former: readonly Module[]): ReadonlyMap<string, DeclaredResource> {
  return new Map(
    former
      .flatMap(({ resources }) => resources)
      .map((each) => [originKey(each.file.path, each.source?.to ?? '', each.name), each] as const),
  );
}

const originKey = (path: string, type: string, name: string): string =>
  [path, type === 'proxwright_template' ? 'proxwright_vm' : type, name].join('\n');

function partialAttributes({ body }: Block, scope: Scope): Readonly<Record<string, PartialValue>> {
  return Object.fromEntries(
    body.items.flatMap((item) =>
      item.kind === 'attribute' && !META.has(item.name) ? [[item.name, partial(item.value, scope)] as const] : [],
    ),
  );
}

function partial(expression: Expression, scope: Scope): PartialValue {
  try {
    return evaluate(expression, scope);
  } catch (error) {
    if (!(error instanceof NotKnown)) throw error;
  }
  if (expression.kind === 'parentheses') return partial(expression.value, scope);
  if (expression.kind === 'list') return expression.items.map((item) => partial(item, scope));
  if (expression.kind !== 'object') return undefined;
  const entries = expression.entries.map(({ key, value }) => [partial(key, scope), partial(value, scope)] as const);
  // A key that is not known may be any of them.
  if (entries.some(([key]) => typeof key !== 'string')) return undefined;
  return Object.fromEntries(entries.map(([key, value]) => [String(key), value]));
}

/** Where the former resource says what became the attribute at this path; the resource itself if nothing there does. */
function placeOf({ block, source }: DeclaredResource, path: string): number {
  const found = source ? placesIn(block.body, source.rows, path.split('.'), 0) : [];
  return found.reduce((best, each) => (each.depth > best.depth ? each : best), { start: block.start, depth: 0 }).start;
}

interface Found {
  readonly start: number;
  /** How many steps of the path are the same. */
  readonly depth: number;
}

function placesIn(body: Body, rows: readonly Row[], path: readonly string[], above: number): readonly Found[] {
  return body.items.flatMap((item): readonly Found[] => {
    const isDynamic = item.kind === 'block' && item.type === 'dynamic';
    const name = item.kind === 'attribute' ? item.name : isDynamic ? (item.labels[0]?.text ?? '') : item.type;
    const row = rows.find((each) => (isBlockRow(each) ? each.block : each.from) === name);
    if (!row) return [];
    if (!isBlockRow(row)) {
      const depth = row.to === undefined ? 0 : common(row.to.split('.'), path);
      return depth > 0 ? [{ start: item.start, depth: above + depth }] : [];
    }
    if (item.kind === 'attribute') return [];
    const inner = (isDynamic ? blocksOf(item.body, 'content')[0]?.body : undefined) ?? item.body;
    if (!row.collection) return placesIn(inner, row.rows, path, above);
    if (row.collection.to !== path[0]) return [];
    const key = 'attribute' in row.collection.key ? row.collection.key : undefined;
    const slot = key && (textOf(attributeOf(inner, key.attribute)?.value) ?? key.byDefault);
    if (slot !== undefined && path[1] !== undefined && !path[1].endsWith(slot)) return [];
    const here = { start: item.start, depth: above + (slot === undefined ? 1 : 2) };
    return [here, ...placesIn(inner, row.rows, path.slice(2), here.depth)];
  });
}

function common(a: readonly string[], b: readonly string[]): number {
  const different = a.findIndex((step, index) => step !== b[index]);
  return different < 0 ? a.length : different;
}
