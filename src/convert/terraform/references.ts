/**
 * Expressions with their references translated: `proxmox_virtual_environment_vm.web[0].vm_id` → `proxwright_vm.web[0].vmid`.
 * Everything else keeps its spelling.
 */
import { type Access, childrenOf, type Expression, type Step } from '../hcl/syntax.ts';
import { isBlockRow, type ReferenceRow, type Row, type SourceResource } from '../mapping/rows.ts';

/** A resource of the source, and what it becomes. */
export interface Renamed {
  readonly type: string;
  readonly source: Pick<SourceResource, 'rows' | 'references'>;
}

export interface ReferenceProblem {
  readonly offset: number;
  readonly what: string;
  readonly why: string;
  /** It could not be translated, and is as it was. */
  readonly isLeft: boolean;
}

export interface References {
  /** By the old type and name, in the same module. */
  find(type: string, name: string): Renamed | undefined;
  problem(problem: ReferenceProblem): void;
  /** What `self` stands for. */
  readonly self?: Renamed;
  /** Other replacements: the iterator of a dynamic block. */
  readonly replace?: (access: Access) => Edit | undefined;
}

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function rewritten(expression: Expression, source: string, references: References): string {
  const edits = editsOf(expression, source, references, new Map());
  return applied(source, expression.start, expression.end, edits);
}

export function applied(source: string, start: number, end: number, edits: readonly Edit[]): string {
  let text = '';
  let at = start;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    if (edit.start < at || edit.end > end) continue;
    text += source.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + source.slice(at, end);
}

/** Names for an instance of a resource: in `for vm in proxmox_vm_qemu.web : …`. */
type Aliases = ReadonlyMap<string, Renamed>;

export function editsOf(
  expression: Expression,
  source: string,
  references: References,
  aliases: Aliases = new Map(),
): readonly Edit[] {
  if (expression.kind === 'for') {
    const many = resourceOf(expression.of, references, aliases);
    const inner = new Map(aliases);
    for (const name of expression.names) inner.delete(name);
    const alias = expression.names.at(-1);
    if (many && alias !== undefined) inner.set(alias, many.renamed);
    const outer = editsOf(expression.of, source, references, aliases);
    const rest = [expression.key, expression.value, expression.condition].filter((each) => each !== undefined);
    return [...outer, ...rest.flatMap((each) => editsOf(each, source, references, inner))];
  }
  if (expression.kind !== 'access') {
    return childrenOf(expression).flatMap((child) => editsOf(child, source, references, aliases));
  }
  const replaced = references.replace?.(expression);
  const keys = expression.steps.flatMap((step) =>
    step.kind === 'index' ? editsOf(step.key, source, references, aliases) : [],
  );
  if (replaced) return [replaced, ...keys.filter(({ start }) => start >= replaced.end)];
  const own = accessEdits(expression, source, references, aliases);
  const inner = expression.of.kind === 'variable' ? [] : editsOf(expression.of, source, references, aliases);
  return [
    ...inner,
    ...own,
    ...keys.filter((key) => !own.some(({ start, end }) => key.start >= start && key.end <= end)),
  ];
}

interface Found {
  readonly renamed: Renamed;
  /** How many steps lead to one instance, or to all of them. */
  readonly used: number;
}

/** The resource that an expression refers to: by its name, by an alias, or inside `values(…)` and the like. */
function resourceOf(expression: Expression, references: References, aliases: Aliases): Found | undefined {
  if (expression.kind === 'parentheses') return resourceOf(expression.value, references, aliases);
  if (
    expression.kind === 'call' &&
    /^(values|tolist|toset|flatten|concat|one|element|merge|try|slice|reverse)$/.test(expression.name)
  ) {
    const [first] = expression.args;
    return first && resourceOf(first, references, aliases);
  }
  if (expression.kind !== 'access' || expression.of.kind !== 'variable') return undefined;
  const [label, ...rest] = expression.steps;
  if (label?.kind !== 'attribute') return undefined;
  const renamed = references.find(expression.of.name, label.name);
  if (!renamed || rest.some((step) => step.kind === 'attribute')) return undefined;
  return { renamed, used: expression.steps.length };
}

/** Whole resources among the values of an expression: whoever reads it knows their attributes by the former names. */
export function wholeResources(
  expression: Expression,
  references: References,
  aliases: Aliases = new Map(),
): readonly Expression[] {
  const below = (each: Expression, known = aliases) => wholeResources(each, references, known);
  switch (expression.kind) {
    case 'parentheses':
      return below(expression.value);
    case 'conditional':
      return [...below(expression.yes), ...below(expression.no)];
    case 'list':
      return expression.items.flatMap((each) => below(each));
    case 'object':
      return expression.entries.flatMap(({ value }) => below(value));
    case 'variable':
      return aliases.has(expression.name) ? [expression] : [];
    case 'for': {
      const many = resourceOf(expression.of, references, aliases);
      const alias = expression.names.at(-1);
      return below(expression.value, many && alias !== undefined ? new Map(aliases).set(alias, many.renamed) : aliases);
    }
    default:
      return resourceOf(expression, references, aliases) ? [expression] : [];
  }
}

function accessEdits(access: Access, source: string, references: References, aliases: Aliases): readonly Edit[] {
  const { of, steps } = access;
  if (of.kind !== 'variable') {
    const inside = resourceOf(of, references, aliases);
    return inside ? attributeEdits(access, steps, source, inside.renamed, references) : [];
  }
  const alias = aliases.get(of.name) ?? (of.name === 'self' ? references.self : undefined);
  if (alias) return attributeEdits(access, steps, source, alias, references);
  const [label, ...rest] = steps;
  if (label?.kind !== 'attribute') return [];
  const renamed = references.find(of.name, label.name);
  if (!renamed) return [];
  const [first, ...others] = attributeEdits(access, rest, source, renamed, references);
  const type = { start: of.start, end: of.end, text: renamed.type };
  // What comes before the whole goes before the type.
  return first?.start === of.start ? [first, type, ...others] : [type, ...(first ? [first] : []), ...others];
}

/** Of the steps after an instance; before them may be its index. */
function attributeEdits(
  access: Access,
  steps: readonly Step[],
  source: string,
  renamed: Renamed,
  references: References,
): readonly Edit[] {
  const first = steps.findIndex((step) => step.kind === 'attribute');
  if (first < 0) return [];
  const path = steps.slice(first);
  const found = pathOf(path, renamed, source);
  const [start, end] = [path[0]?.start ?? 0, path[found?.used ? found.used - 1 : path.length - 1]?.end ?? 0];
  const what = source.slice(start + 1, path.at(-1)?.end ?? end);
  if (found?.to === undefined) {
    references.problem({
      offset: start,
      what,
      why: 'Proxwright has no such attribute. See `primary_address`, `addresses`, `macs`, `all_disks` and `all_nics`.',
      isLeft: true,
    });
    return [];
  }
  if (found.review !== undefined) references.problem({ offset: start, what, why: found.review, isLeft: false });
  const edit = { start, end, text: `.${found.to}` };
  return found.isMap ? asList(edit, access, path.length === found.used) : [edit];
}

/** The values of a map where the source has a list, for one instance or for each of them. */
function asList(edit: Edit, { start, steps }: Access, isWhole: boolean): readonly Edit[] {
  const isMany = steps.some((step) => step.kind === 'splat' && step.start < edit.start);
  if (isMany && !isWhole) return [edit];
  const [head, tail] = isMany ? ['[for vm in ', ` : values(vm${edit.text})]`] : ['values(', `${edit.text})`];
  return [
    { start, end: start, text: head },
    { ...edit, text: tail },
  ];
}

interface FoundPath {
  readonly used: number;
  readonly to?: string;
  readonly review?: string;
  readonly isMap?: boolean;
}

function pathOf(steps: readonly Step[], { source }: Renamed, text: string): FoundPath | undefined {
  for (const row of source.references) {
    const match = matchReference(row, steps, text);
    if (match) return match;
  }
  return rowPath(steps, source.rows, text);
}

/** `network_device[#].mac_address` against the steps. */
function matchReference(row: ReferenceRow, steps: readonly Step[], text: string): FoundPath | undefined {
  const expected = row.from.match(/[a-z0-9_]+|\[[^\]]*\]/g) ?? [];
  if (expected.length > steps.length) return undefined;
  const numbers: string[] = [];
  for (const [index, part] of expected.entries()) {
    const step = steps[index];
    if (part.startsWith('[')) {
      if (step?.kind !== 'index') return undefined;
      const key = text.slice(step.key.start, step.key.end);
      if (part === '[#]') numbers.push(key);
      else if (part !== `[${key}]`) return undefined;
    } else if (step?.kind !== 'attribute' || step.name !== part) return undefined;
  }
  if (row.to === undefined) return { used: expected.length };
  const to = row.to.replace(/"net#(-1)?"|#/g, (hole, less: string | undefined) => {
    const key = numbers.shift() ?? '0';
    if (hole === '#') return key;
    const isNumber = /^\d+$/.test(key);
    const slot = isNumber ? Number(key) - (less ? 1 : 0) : undefined;
    return slot === undefined ? `"net\${${key}${less ? ' - 1' : ''}}"` : `"net${Math.max(0, slot)}"`;
  });
  const { review, isMap = false } = row;
  return { used: expected.length, to, isMap, ...(review !== undefined && { review }) };
}

/** By the table of attributes: `cpu[0].cores` → `cpu.cores`, where the value is written the same way. */
function rowPath(steps: readonly Step[], rows: readonly Row[], text: string, used = 0): FoundPath | undefined {
  const [first, ...rest] = steps;
  if (first?.kind !== 'attribute') return undefined;
  const row = rows.find((each) => (isBlockRow(each) ? each.block : each.from) === first.name);
  if (!row) return undefined;
  if (!isBlockRow(row)) {
    const isSame = row.as === undefined || ['same', 'vmid', 'vlan', 'flag'].includes(row.as);
    if (row.to === undefined) return undefined;
    const review = isSame ? undefined : 'The value is written in another way here, for example with a unit.';
    return { used: used + 1, to: row.to, ...(review !== undefined && { review }) };
  }
  const [index, ...after] = rest;
  if (index?.kind !== 'index') return rowPath(rest, row.rows, text, used + 1);
  const inner = rowPath(after, row.rows, text, used + 2);
  if (!inner?.to || !row.collection) return inner;
  const key = text.slice(index.key.start, index.key.end);
  const slot = slotOf(row.collection, key);
  return slot === undefined ? undefined : { ...inner, to: `${row.collection.to}[${slot}].${inner.to}` };
}

function slotOf(
  collection: NonNullable<Extract<Row, { block: string }>['collection']>,
  key: string,
): string | undefined {
  if (!('position' in collection.key)) return collection.key.attribute === '' ? key : undefined;
  const { position } = collection.key;
  return /^\d+$/.test(key) ? `"${position}${key}"` : `"${position}\${${key}}"`;
}

/** A dynamic block's iterator in a `for` expression: `disk.value` → `disk_value`. */
export function withoutIterator(references: References, iterator: string): References {
  return {
    ...references,
    find: (type, name) => references.find(type, name),
    problem: (problem) => references.problem(problem),
    replace: (access) => {
      const [step] = access.steps;
      const isIterator = access.of.kind === 'variable' && access.of.name === iterator;
      if (!isIterator || step?.kind !== 'attribute' || !['key', 'value'].includes(step.name)) {
        return references.replace?.(access);
      }
      return { start: access.start, end: step.end, text: `${iterator}_${step.name}` };
    },
  };
}
