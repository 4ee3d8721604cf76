/** A template from outside a stack file, checked by the same field table and the same rules, with the same messages. */

import { invariant } from '../base/assert.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { ResolvedTemplate } from '../kinds/stack.ts';
import { Findings } from './findings.ts';
import { emptyMap, type LocatedMap } from './located.ts';
import { checkRules } from './rules/index.ts';
import { readTemplate } from './templates.ts';

export interface OneTemplate {
  /** As far as it could be read. */
  readonly template: ResolvedTemplate;
  readonly diagnostics: readonly Diagnostic[];
}

export interface OneTemplateInput {
  readonly name: string;
  /** Without its name. Unknown values are not checked. */
  readonly tree: LocatedMap;
}

export function checkOneTemplate({ name, tree }: OneTemplateInput): OneTemplate {
  const findings = new Findings();
  const templates = readTemplate(
    name,
    { keyAt: tree.at, value: tree },
    {
      defaults: emptyMap({}),
      scope: { variables: new Map() },
      images: { byName: new Map(), mentioned: new Set() },
      findings,
    },
  );
  checkRules({ vms: [], templates }, findings);
  const [only] = templates;
  invariant(only, 'A map of fields is one template.');
  return { template: only.template, diagnostics: findings.list() };
}
