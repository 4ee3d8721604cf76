/** The engine's diagnostics as the host shows them: at their attribute, in the host's language. */

import { type Diagnostic, formatWhere } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { type AttributePath, attribute, index, key, type PathStep } from '../cty/path.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes, AttributeType } from '../schema/model.ts';
import { inHostLanguage } from './host-language.ts';
import type { FileValues } from './to-fields.ts';

/** The place is `where.field`; a diagnostic without one is about the whole resource. */
export function diagnosticAt(diagnostic: Diagnostic, attributes: Attributes): ProviderDiagnostic {
  const { severity, summary, code, detail, hint, where = {} } = diagnostic;
  // The host names the resource and its line by itself.
  const { address: _, field = '', file: _file, line: _line, column: _column, ...elsewhere } = where;
  const path = pathOf(field, attributes);
  const place = formatWhere(elsewhere);
  const reason = [detail, hint === undefined ? '' : inHostLanguage(hint)].filter(Boolean);
  const paragraphs = [...reason, innerField(field, attributes), place === '' ? '' : `At ${place}.`, `[${code}]`];
  return {
    severity,
    code,
    summary,
    detail: paragraphs.filter(Boolean).join('\n\n'),
    ...(path && { path }),
    about: { field, reason: reason.join(' ') },
  };
}

/** A problem found while the values were read. */
export function problemAt(field: string, detail: string, attributes: Attributes): ProviderDiagnostic {
  return diagnosticAt(new ProxwrightError({ code: 'BAD_VALUE', detail, where: { field } }).diagnostic, attributes);
}

/** Everything wrong with a configuration: values that could not be read, and what its rules say. */
export function inputProblems(
  { problems }: FileValues,
  found: readonly Diagnostic[],
  attributes: Attributes,
): ProviderDiagnostic[] {
  return [
    ...problems.map(({ path, detail }) => problemAt(path, detail, attributes)),
    ...found.map((diagnostic) => diagnosticAt(diagnostic, attributes)),
  ];
}

/** What the path cannot express has to be in the text. */
function innerField(field: string, attributes: Attributes): string {
  const [shown, whole] = [pathOf(field, attributes), fullPathOf(field, attributes)];
  return shown === undefined || whole === undefined || shown.length === whole.length ? '' : `The field is ${field}.`;
}

/** The whole path of an attribute, as far as the schema has it; undefined where the schema lacks its first step. */
export function fullPathOf(dotted: string, attributes: Attributes): AttributePath | undefined {
  const [first = '', ...rest] = dotted.split('.');
  const outer = Object.hasOwn(attributes, first) ? attributes[first] : undefined;
  return outer && [attribute(first), ...stepsBelow(outer.type, rest)];
}

/**
 * What the host can point at: an attribute, or one key or index in it. It would show a longer path through a nested
 * attribute at the head of the whole resource.
 */
export function pathOf(dotted: string, attributes: Attributes): AttributePath | undefined {
  const [first, second] = fullPathOf(dotted, attributes) ?? [];
  if (first === undefined) return undefined;
  return second === undefined || second.kind === 'attribute' ? [first] : [first, second];
}

/** The dotted form of a path. */
export function dottedOf(path: AttributePath): string {
  return path
    .map((step) => (step.kind === 'attribute' ? step.name : step.kind === 'key' ? step.key : step.index))
    .join('.');
}

function stepsBelow(type: AttributeType, [step, ...rest]: readonly string[]): PathStep[] {
  if (step === undefined) return [];
  if (type.kind === 'value') return stepInside(type.type, step);
  if (type.nesting === 'map') return [key(step), ...attributesBelow(type.attributes, rest)];
  if (type.nesting === 'list') return [index(Number(step)), ...attributesBelow(type.attributes, rest)];
  return attributesBelow(type.attributes, [step, ...rest]);
}

function attributesBelow(attributes: Attributes, [step = '', ...rest]: readonly string[]): PathStep[] {
  const inner = Object.hasOwn(attributes, step) ? attributes[step] : undefined;
  return inner ? [attribute(step), ...stepsBelow(inner.type, rest)] : [];
}

/** The elements of a set have no index. */
function stepInside(type: (AttributeType & { readonly kind: 'value' })['type'], step: string): PathStep[] {
  if (typeof type === 'string') return [];
  if (type[0] === 'map') return [key(step)];
  return type[0] === 'list' && /^\d+$/.test(step) ? [index(Number(step))] : [];
}
