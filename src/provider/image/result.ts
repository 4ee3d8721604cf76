/** What the host is told of an image. */
import type { FileRecord } from '../../kinds/image/record.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { type ImagePrivate, writePrivate } from './private-state.ts';
import { IMAGE_SCHEMA } from './schema.ts';

export interface FinishedImage {
  readonly planned: CtyObject;
  readonly kept: ImagePrivate;
}

/** As planned; what only the server knew is filled in. */
export function finished(
  { planned, kept }: FinishedImage,
  diagnostics: readonly ProviderDiagnostic[] = [],
): ApplyResult {
  const computed: CtyObject = { id: kept.file.volid, size_bytes: kept.file.sizeBytes };
  const state = objectOf(
    Object.keys(IMAGE_SCHEMA.attributes).map((name): [string, CtyValue] => {
      const value: CtyValue = planned[name] ?? null;
      return [name, value === UNKNOWN ? (computed[name] ?? null) : value];
    }),
  );
  const file = kept.brought ? asOurs(kept.file) : kept.file;
  return { state, private: writePrivate({ ...kept, file }), diagnostics };
}

/** The engine takes what it did not bring in this very run for somebody else's; that an earlier one did, we know. */
function asOurs({ foreign: _, ...file }: FileRecord): FileRecord {
  return file;
}
