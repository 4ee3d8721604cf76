/** `ReadResource` of an image: whether its file is there, and still the one that was brought. */
import { placeOfVolume } from '../../kinds/image/file.ts';
import { isSameFile } from '../../kinds/image/record.ts';
import type { FilePlace } from '../../kinds/image/steps.ts';
import { type CtyObject, objectOf } from '../cty/value.ts';
import type { ReadRequest, ReadResult } from '../provider.ts';
import { textOf } from '../vm/memory.ts';
import type { ImageContext } from './context.ts';
import { type ImagePrivate, readPrivate, writePrivate } from './private-state.ts';
import { findFile } from './storage.ts';

/** Where the image of a state is. */
export function placeOfState(state: CtyObject): FilePlace {
  return { node: textOf(state, 'node') ?? '', ...placeOfVolume(textOf(state, 'id') ?? '') };
}

export async function readImageState(context: ImageContext, request: ReadRequest): Promise<ReadResult> {
  const { surroundings } = context;
  const { state } = request;
  if (!surroundings) return { state, private: request.private, diagnostics: [] };
  const place = placeOfState(state);
  context.remember(place);
  const entry = await findFile(surroundings.looks, place, surroundings.signal);
  if (!entry) return { state: null, private: undefined, diagnostics: [] };
  const kept = readPrivate(request.private);
  const isSame = kept !== undefined && isSameFile(kept.file, entry);
  const { size, ctime } = entry;
  const file = {
    address: kept?.file.address ?? '',
    ...kept?.file,
    node: place.node,
    volid: entry.volid,
    sizeBytes: size ?? 0,
    ...(ctime !== undefined && { ctime }),
  };
  // What we did not bring belongs to somebody who may change it.
  const isChanged = kept?.brought === true && !isSame;
  const now: ImagePrivate = {
    file,
    brought: kept?.brought ?? false,
    shared: kept?.shared ?? false,
    ...((isChanged || kept?.changed) && { changed: true }),
  };
  return {
    state: objectOf(Object.entries({ ...state, size_bytes: size ?? 0 })),
    private: isSame ? request.private : writePrivate(now),
    diagnostics: [],
  };
}
