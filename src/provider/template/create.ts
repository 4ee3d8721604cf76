/** Making a template that the host does not have. One that fails returns no state; the next create goes on with it. */

import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { problemFrom } from '../run/outcome.ts';
import type { VmContext } from '../vm/context.ts';
import { secretsOf } from '../vm/secrets.ts';
import { type Built, build } from './build.ts';
import { finished } from './result.ts';
import { TEMPLATE } from './schema.ts';
import { knownRecipe, wantedTemplate } from './wanted-template.ts';

export async function createTemplate(context: VmContext, planned: CtyObject, config: CtyObject): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const wanted = wantedTemplate(config);
  if (wanted.problems.length > 0) return failed(wanted.problems, undefined);
  const secrets = await secretsOf(surroundings, config, wanted.template.vm);
  const recipe = knownRecipe(wanted, secrets) ?? '';
  try {
    const built = await build(context, surroundings, { wanted, secrets, recipe, current: undefined, retired: [] });
    const { problems, current } = built;
    if (problems.length > 0 || !current?.uuid) return failed(problems, built);
    return finished({ ...built, planned, config, current, recipe });
  } catch (error) {
    return failed([problemFrom(error, TEMPLATE)], undefined);
  } finally {
    surroundings.forgetLooks();
  }
}

function failed(problems: readonly ProviderDiagnostic[], built: Built | undefined): ApplyResult {
  const notes = problems.length > 0 && built?.current ? [unfinishedNote(built.current)] : [];
  return { state: null, private: undefined, diagnostics: [...problems, ...notes] };
}

export function unfinishedNote({ vmid, node, name }: NonNullable<Built['current']>): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An unfinished template stays',
    detail:
      `VM ${vmid} on ${node} ("${name}") is kept and marked as incomplete: the next apply completes it. ` +
      'If you remove this resource from the configuration instead, remove the VM by hand.',
  };
}
