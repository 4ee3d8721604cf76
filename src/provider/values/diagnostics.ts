/** The engine's diagnostics as the host shows them: at their attribute, in the host's language. */
import { type Diagnostic, formatWhere } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { inHostLanguage } from './host-language.ts';
import { fullPathOf, pathOf } from './path.ts';
import type { FileValues } from './to-fields.ts';

/** The place is `where.field`; a diagnostic without one is about the whole resource. */
export function diagnosticAt(diagnostic: Diagnostic, attributes: Attributes): ProviderDiagnostic {
  const { severity, summary, code, detail, hint, where = {} } = diagnostic;
  // The host names the resource and its line by itself.
  const { address: _, field = '', file: _file, line: _line, column: _column, ...elsewhere } = where;
  const path = pathOf(field, attributes);
  const place = formatWhere(elsewhere);
  const paragraphs = [
    detail,
    hint === undefined ? '' : inHostLanguage(hint),
    innerField(field, attributes),
    place === '' ? '' : `At ${place}.`,
    `[${code}]`,
  ];
  return { severity, code, summary, detail: paragraphs.filter(Boolean).join('\n\n'), ...(path && { path }) };
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
