/**
 * Bringing an image that the host does not have. One that fails returns no state; what a process that died had begun is
 * waited for, recognised by its task, and not begun again.
 */
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { problemFrom } from '../run/outcome.ts';
import type { Surroundings } from '../surroundings.ts';
import { type Bringing, bring, fileOf } from './bring.ts';
import type { ImageContext } from './context.ts';
import { finished } from './result.ts';
import { IMAGE } from './schema.ts';
import { findFile, settleEarlier, type Trace, traceOf } from './storage.ts';
import { type WantedImage, wantedImage } from './wanted-image.ts';

export async function createImage(context: ImageContext, planned: CtyObject, config: CtyObject): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const wanted = wantedImage(config);
  const { place, problems } = wanted;
  if (problems.length > 0 || !place) return failed(problems);
  try {
    const ended = await settleEarlier(surroundings, place);
    const { brought, ...bringing } = await startFor(surroundings, { wanted, place }, ended);
    const { file, shared, diagnostics } = await bring(context, surroundings, bringing);
    if (!file) return failed(diagnostics);
    return finished({ planned, kept: { file, shared, brought } }, diagnostics);
  } catch (error) {
    return failed([problemFrom(error, IMAGE)]);
  } finally {
    surroundings.forgetLooks();
  }
}

/** What is there before anything is done, and whose it is. */
async function startFor(
  surroundings: Surroundings,
  { wanted, place }: Pick<Bringing, 'wanted' | 'place'>,
  ended: Trace | undefined,
): Promise<Bringing & { readonly brought: boolean }> {
  const { work, signal } = surroundings;
  const entry = await findFile(work, place, signal);
  const fresh = { wanted, place, remembered: undefined, replace: false };
  if (!entry) return { ...fresh, brought: true };
  const trace = ended ?? (await traceOf(surroundings, place, entry));
  if (!trace) return { ...fresh, brought: false };
  // Ours, by a process that could not tell the host. Proxmox compares it where it can; else its address has to do.
  const isAsWanted = !hasChecksum(wanted) && trace.url !== undefined && trace.url === wanted.image.fields.url;
  return isAsWanted
    ? { ...fresh, remembered: fileOf(wanted, place, entry), brought: true }
    : { ...fresh, replace: true, brought: true };
}

function hasChecksum({ image: { fields } }: WantedImage): boolean {
  return (fields.sha256 ?? fields.sha512) !== undefined;
}

function failed(diagnostics: readonly ProviderDiagnostic[]): ApplyResult {
  return { state: null, private: undefined, diagnostics };
}
