/** What the provider says about the resources that a conversion wrote, and their values as fields of a stack file. */
import {
  type Conversion,
  type FieldsOf,
  type Files,
  type Finding,
  knownResources,
  type StateResource,
} from '../../convert/index.ts';
import { checkConfiguration } from '../../provider/check.ts';

type Kind = Parameters<typeof checkConfiguration>[0];

/** A conversion with a finding for whatever the provider refuses of it: once for a resource, however many instances have it. */
export function withRefusals(
  files: Files,
  conversion: Conversion,
  state: readonly StateResource[] | undefined,
): Conversion {
  const { changed, modules } = conversion;
  const found = new Map<string, Finding>();
  for (const resource of knownResources({ files: new Map([...files, ...changed]), modules, state })) {
    const { type, attributes, file, subject } = resource;
    for (const { path, detail } of checkConfiguration(type as Kind, attributes).problems) {
      const key = [file, subject, path].join('\n');
      if (found.has(key)) continue;
      const why = `Proxwright refuses this: ${detail}`;
      found.set(key, { kind: 'review', file, line: resource.lineOf(path), subject, what: path || type, why });
    }
  }
  const order = (a: Finding, b: Finding) => a.file.localeCompare(b.file) || a.line - b.line;
  return { ...conversion, findings: [...conversion.findings, ...found.values()].sort(order) };
}

export const fieldsOf: FieldsOf = (type, attributes) =>
  checkConfiguration(type as Kind, attributes).fields as ReturnType<FieldsOf>; // plain data, as it was given
