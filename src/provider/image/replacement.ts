/** When an image has to go so that another one can come in its place. */
import { type AttributePath, attribute } from '../cty/path.ts';
import type { CtyObject, CtyValue } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { equalValues } from '../values/equal.ts';
import type { ImagePrivate } from './private-state.ts';

export interface Replacement {
  readonly path: AttributePath;
  readonly reason: string;
}

/** A source that was never said, of an image that was taken over, is no change when it is; one that goes is. */
const SOURCES = ['url', 'path'];
/** A checksum that is said later is compared with the file that is there. */
const OTHERS = ['storage', 'content', 'file', 'compression', 'sha256', 'sha512'];

export function replacements(planned: CtyObject, prior: CtyObject, kept: ImagePrivate | undefined): Replacement[] {
  const names = [...SOURCES, ...OTHERS, ...(kept?.shared ? [] : ['node'])];
  const changed = names.filter((name) => {
    const before: CtyValue = prior[name] ?? null;
    const after: CtyValue = planned[name] ?? null;
    if (before === null || (after === null && !SOURCES.includes(name))) return false;
    return !equalValues(lowered(name, before), lowered(name, after));
  });
  return [
    ...changed.map((name) => ({ path: [attribute(name)], reason: `${name} changes` })),
    ...(kept?.changed ? [{ path: [attribute('size_bytes')], reason: 'somebody else has written to the file' }] : []),
  ];
}

/** Checksums are the same in capitals. */
function lowered(name: string, value: CtyValue): CtyValue {
  return name.startsWith('sha') && typeof value === 'string' ? value.toLowerCase() : value;
}

export function replacementNotes(
  found: readonly Replacement[],
  prior: CtyObject,
  planned: CtyObject,
  kept: ImagePrivate | undefined,
): ProviderDiagnostic[] {
  const [first] = found;
  if (!first) return [];
  const why = found.map(({ reason }) => reason).join(', ');
  if (kept?.brought || !equalValues(prior.id ?? null, planned.id ?? null)) {
    const fate = kept?.brought ? 'The file is deleted' : 'The old file stays, because it was there before';
    const detail = `${why}. ${fate}, and the new one is brought.`;
    return [{ severity: 'warning', summary: 'This image will be replaced', detail, path: first.path }];
  }
  return [
    {
      severity: 'error',
      summary: 'The file in the way is not ours',
      detail: `${why}, but ${String(prior.id)} was there before this resource, so it is not deleted for it. Give the new one a name of its own by file, or delete the old one yourself.`,
      path: first.path,
    },
  ];
}
