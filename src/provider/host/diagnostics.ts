/** Problems in the words of the protocol, at places the host can find. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import { formatPath } from '../cty/error.ts';
import type { AttributePath, PathStep } from '../cty/path.ts';
import {
  type AttributePath_StepSchema,
  type AttributePath as AttributePathMessage,
  AttributePathSchema,
  type Diagnostic,
  Diagnostic_Severity,
  DiagnosticSchema,
} from '../protocol/generated/tfplugin6.generated.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { inHostLanguage } from '../values/host-language.ts';

export function diagnosticMessage(diagnostic: ProviderDiagnostic, attributes: Attributes): Diagnostic {
  const { severity, summary, detail, path = [] } = diagnostic;
  const found = findable(path, attributes);
  const full = formatPath(path);
  const isNamed = found.length === path.length || detail.includes(full);
  return create(DiagnosticSchema, {
    severity: severity === 'error' ? Diagnostic_Severity.ERROR : Diagnostic_Severity.WARNING,
    summary,
    detail: isNamed ? detail : `${detail}\n\nThis is about ${full}.`,
    ...(found.length > 0 && { attribute: pathMessage(found) }),
  });
}

/**
 * The host finds the line of an attribute and of one element in it. A longer path would make it show the first line of the
 * whole block instead; elements of sets have no address at all.
 */
function findable(path: AttributePath, attributes: Attributes): AttributePath {
  const [first, second] = path;
  if (first?.kind !== 'attribute') return [];
  if (second === undefined || second.kind === 'attribute') return [first];
  const type = Object.hasOwn(attributes, first.name) ? attributes[first.name]?.type : undefined;
  const isSet = type?.kind === 'value' && Array.isArray(type.type) && type.type[0] === 'set';
  return isSet ? [first] : [first, second];
}

export function pathMessage(path: AttributePath): AttributePathMessage {
  return create(AttributePathSchema, { steps: path.map((step) => ({ selector: selectorOf(step) })) });
}

type Selector = NonNullable<MessageInitShape<typeof AttributePath_StepSchema>['selector']>;

function selectorOf(step: PathStep): Selector {
  if (step.kind === 'attribute') return { case: 'attributeName', value: step.name };
  if (step.kind === 'key') return { case: 'elementKeyString', value: step.key };
  return { case: 'elementKeyInt', value: BigInt(step.index) };
}

/** Whatever was thrown, for the user: our own errors speak for themselves, the rest are defects. */
export function diagnosticOfThrown(thrown: unknown, call: string): ProviderDiagnostic {
  if (thrown instanceof ProxwrightError && !isFamily(thrown, 'bug')) {
    const { summary, detail, hint } = thrown.diagnostic;
    return { severity: 'error', summary, detail: hint === undefined ? detail : `${detail}\n\n${inHostLanguage(hint)}` };
  }
  const reason = isFamily(thrown, 'bug')
    ? thrown.diagnostic.detail
    : thrown instanceof Error
      ? thrown.message
      : String(thrown);
  return {
    severity: 'error',
    summary: 'Internal error',
    detail: [
      `${call} failed: ${reason.replace(/\.?$/, '.')}`,
      'This is a defect of terraform-provider-proxwright and not of your configuration. Please report it, together with ' +
        'what TF_LOG_PROVIDER=debug shows around it.',
    ].join('\n\n'),
  };
}
