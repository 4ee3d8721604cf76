/** A changed recipe: a new version is built beside the old one. Everything else that changes in place changes nothing there. */

import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { problemFrom } from '../run/outcome.ts';
import type { UpdateRequest } from '../run/resource.ts';
import type { VmContext } from '../vm/context.ts';
import { secretsOf } from '../vm/secrets.ts';
import { build } from './build.ts';
import { unfinishedNote } from './create.ts';
import { memoryOfState } from './memory.ts';
import { isOutdated } from './outdated.ts';
import { readPrivate } from './private-state.ts';
import { finished } from './result.ts';
import { TEMPLATE } from './schema.ts';
import { knownRecipe, wantedTemplate } from './wanted-template.ts';

export async function updateTemplate(context: VmContext, request: UpdateRequest): Promise<ApplyResult> {
  const { prior, planned, config } = request;
  const surroundings = context.requireSurroundings();
  const failed = (diagnostics: readonly ProviderDiagnostic[]): ApplyResult => {
    return { state: prior, private: request.private, diagnostics };
  };
  const wanted = wantedTemplate(config);
  if (wanted.problems.length > 0) return failed(wanted.problems);
  const kept = readPrivate(request.private);
  const { retired, owner } = kept;
  const current = memoryOfState(prior, kept);
  const secrets = await secretsOf(surroundings, config, wanted.template.vm);
  const recipe = knownRecipe(wanted, secrets) ?? '';
  if (!isOutdated({ prior, planned, kept, recipe })) {
    return finished({ planned, config, current, recipe, retired, ...(owner !== undefined && { owner }) });
  }
  // What is as another owner made it is not ours to keep.
  const ours = owner === undefined ? { current, retired } : { current: undefined, retired };
  try {
    const built = await build(context, surroundings, { wanted, secrets, recipe, ...ours });
    const { problems } = built;
    if (problems.length === 0 && built.current?.uuid) {
      return finished({ ...built, planned, config, current: built.current, recipe });
    }
    const isNew = built.current !== undefined && built.current.vmid !== current.vmid;
    return failed([...problems, ...(isNew && built.current ? [unfinishedNote(built.current)] : [])]);
  } catch (error) {
    return failed([problemFrom(error, TEMPLATE)]);
  } finally {
    surroundings.forgetLooks();
  }
}
