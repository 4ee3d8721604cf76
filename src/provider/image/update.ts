/** What changes of an image in place: nothing in the storage. A checksum that is new is compared with the file. */
import type { ApplyResult } from '../provider.ts';
import type { UpdateRequest } from '../run/resource.ts';
import { bring } from './bring.ts';
import type { ImageContext } from './context.ts';
import { readPrivate } from './private-state.ts';
import { placeOfState } from './read.ts';
import { finished } from './result.ts';
import { findFile } from './storage.ts';
import { wantedImage } from './wanted-image.ts';

export async function updateImage(context: ImageContext, request: UpdateRequest): Promise<ApplyResult> {
  const { prior, planned, config } = request;
  const surroundings = context.requireSurroundings();
  const untouched = { state: prior, private: request.private };
  const wanted = wantedImage(config);
  if (wanted.problems.length > 0 || !wanted.place) return { ...untouched, diagnostics: wanted.problems };
  const kept = readPrivate(request.private);
  const isNew = (name: string) => (prior[name] ?? null) === null && (planned[name] ?? null) !== null;
  if (isNew('sha256') || isNew('sha512')) {
    const bringing = { wanted, place: wanted.place, remembered: undefined, replace: false };
    const { file, shared, diagnostics } = await bring(context, surroundings, bringing);
    if (!file) return { ...untouched, diagnostics };
    return finished({ planned, kept: { file, shared, brought: kept?.brought ?? false } }, diagnostics);
  }
  const entry = await findFile(surroundings.work, placeOfState(prior), surroundings.signal);
  const { sha256, sha512, url } = wanted.image.fields;
  const file = {
    address: wanted.image.address,
    sizeBytes: entry?.size ?? 0,
    ...kept?.file,
    node: wanted.place.node,
    volid: String(prior.id),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
  };
  return finished({ planned, kept: { file, shared: kept?.shared ?? false, brought: kept?.brought ?? false } });
}
