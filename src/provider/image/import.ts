/** Taking over a file by `node/volume`. Nothing of it is changed, and it stays when its resource goes. */
import { ProxwrightError } from '../../base/errors.ts';
import { placeOfVolume } from '../../kinds/image/file.ts';
import { type CtyValue, objectOf } from '../cty/value.ts';
import type { ImportResult } from '../provider.ts';
import type { ImageContext } from './context.ts';
import { writePrivate } from './private-state.ts';
import { IMAGE_SCHEMA } from './schema.ts';
import { findFile } from './storage.ts';

export async function importImageState(context: ImageContext, id: string): Promise<ImportResult> {
  const { looks, signal } = context.requireSurroundings();
  const [, node, volid] = /^([^/:]+)\/([^:]+:(?:import|iso)\/.+)$/.exec(id.trim()) ?? [];
  const hint = 'Give it as node/volume: pve1/local:import/noble.qcow2.';
  if (node === undefined || volid === undefined) {
    throw new ProxwrightError({ code: 'BAD_VALUE', detail: `"${id}" names no image in a storage.`, hint });
  }
  const place = { node, ...placeOfVolume(volid) };
  const entry = await findFile(looks, place, signal);
  if (!entry) throw new ProxwrightError({ code: 'NOT_FOUND', detail: `${node} lists no ${volid}.`, hint });
  const { size, ctime } = entry;
  const said = { ...place, id: volid, size_bytes: size ?? 0 };
  const state = objectOf(
    Object.keys(IMAGE_SCHEMA.attributes).map((name): [string, CtyValue] => [
      name,
      Object.hasOwn(said, name) ? (said[name as keyof typeof said] ?? null) : null, // checked
    ]),
  );
  const file = { address: '', node, volid, sizeBytes: size ?? 0, ...(ctime !== undefined && { ctime }) };
  return { state, private: writePrivate({ file, brought: false, shared: false }), diagnostics: [] };
}
