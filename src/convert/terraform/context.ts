/** What the translation of one resource knows and reports, and source text that is kept. */
import type { Block, Expression, Span } from '../hcl/syntax.ts';
import type { SourceResource } from '../mapping/rows.ts';
import type { FindingKind } from '../report.ts';
import type { Part } from './collections.ts';
import { applied, type Edit, editsOf, type References } from './references.ts';
import type { SourceValue } from './values.ts';

/** What a resource may use of its site. */
export interface VmContext {
  readonly source: string;
  /** The block that is translated. */
  readonly block: Block;
  readonly table: Pick<SourceResource, 'rows'>;
  readonly references: References;
  /** Undefined: only an expression says it. */
  readonly isTemplate?: boolean | undefined;
  /** The value in the state, if all instances share it. */
  known?(attribute: string): string | undefined;
  /** Whether a value may be null: by the types and defaults of variables. */
  mayBeNull(expression: Expression): boolean;
  /** The content of a snippet that this configuration uploads, as HCL of `{ file = … }` or `{ text = … }`. */
  snippet(expression: Expression): { readonly content: string; readonly storage?: string | undefined } | undefined;
  /** The name of our provider, for `provider = …`. */
  providerName(expression: Expression): string | undefined;
  found(kind: FindingKind, span: Span, what: string, why: string): void;
}

/** The walk through the settings of a block, for values that need more than themselves. */
export interface Walk {
  readonly context: VmContext;
  value(expression: Expression): SourceValue;
  /** The storage of the cloud-init drive, whatever the source says. */
  useStorage(text: string): void;
  /** One more item of a list. */
  append(path: readonly string[], item: string): void;
  /** An entry of a map, such as a network card. */
  add(to: string, part: Part): void;
}

/** A block of the language, with its references translated and its indentation kept. */
export function keptBlock(
  block: Block,
  source: string,
  references: References,
  own: readonly Edit[] = [],
): readonly string[] {
  const isReplaced = (edit: Edit) => own.some(({ start, end }) => edit.start < end && edit.end > start);
  const edits = [...own, ...keptEdits(block, source, references).filter((edit) => !isReplaced(edit))];
  return dedented(applied(source, block.start, block.end, edits), columnOf(source, block.start));
}

/** An attribute that reads something which has no counterpart is commented out. */
function keptEdits({ body }: Block, source: string, references: References): readonly Edit[] {
  return body.items.flatMap((item) => {
    if (item.kind === 'block') return keptEdits(item, source, references);
    let left: string | undefined;
    const edits = editsOf(item.value, source, {
      ...references,
      problem: (problem) => {
        if (problem.isLeft) left = problem.why;
        references.problem(problem);
      },
    });
    if (left === undefined) return edits;
    const indent = ' '.repeat(columnOf(source, item.start));
    return [{ start: item.start, end: item.end, text: commentedOut(source, item, left).join(`\n${indent}`) }];
  });
}

export function expressionsIn(block: Block): readonly Expression[] {
  return block.body.items.flatMap((item) => (item.kind === 'attribute' ? [item.value] : expressionsIn(item)));
}

export function commentedOut(source: string, { start, end }: Span, why: string): readonly string[] {
  const lines = dedented(source.slice(start, end), columnOf(source, start));
  return [`# Not translated: ${why}`, ...lines.map((line) => (line === '' ? '#' : `# ${line}`))];
}

function columnOf(source: string, offset: number): number {
  return offset - (source.lastIndexOf('\n', offset - 1) + 1);
}

function dedented(text: string, column: number): readonly string[] {
  const indent = new RegExp(`^[ \\t]{1,${Math.max(1, column)}}`);
  return text.split(/\r?\n/).map((line, index) => (index === 0 || column === 0 ? line : line.replace(indent, '')));
}
