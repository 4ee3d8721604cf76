/** `proxwright_template`: the calls of the host, each to its file. */
import type { ResourceType } from '../provider.ts';
import { resourceOf } from '../run/resource.ts';
import type { VmContext } from '../vm/context.ts';
import { writeOnlyProblems } from '../vm/resource.ts';
import { createTemplate } from './create.ts';
import { destroyTemplate } from './destroy.ts';
import { importTemplateState } from './import.ts';
import { planTemplateChange } from './plan.ts';
import { readTemplateState } from './read.ts';
import { TEMPLATE, TEMPLATE_SCHEMA } from './schema.ts';
import { updateTemplate } from './update.ts';
import { wantedTemplate } from './wanted-template.ts';

export function templateResource(context: VmContext): ResourceType {
  return resourceOf({
    noun: TEMPLATE.noun,
    schema: TEMPLATE_SCHEMA,
    validate: (config, capabilities) => [
      ...wantedTemplate(config).problems,
      ...writeOnlyProblems(config, capabilities, TEMPLATE_SCHEMA.attributes),
    ],
    read: (request, call) => readTemplateState(context.during(call), request),
    plan: (request, call) => planTemplateChange(context.during(call), request),
    create: ({ planned, config }, call) => createTemplate(context.during(call), planned, config),
    update: (request, call) => updateTemplate(context.during(call), request),
    destroy: (request, call) => destroyTemplate(context.during(call), request.prior, request.private),
    import: (id, call) => importTemplateState(context.during(call), id),
  });
}
