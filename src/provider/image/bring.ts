/** Bringing an image to its place, by the engine, and what is remembered of it then. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { FileRecord } from '../../kinds/image/record.ts';
import { fileKey } from '../../kinds/image/record.ts';
import { type FilePlace, keyOf, volidOf } from '../../kinds/image/steps.ts';
import { emptyState, type StackState } from '../../kinds/recorded.ts';
import type { VolumeEntry } from '../../pve/index.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { carryOut } from '../run/outcome.ts';
import { stackOf, withEngineRun } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { ownerName } from '../vm/owner.ts';
import type { ImageContext } from './context.ts';
import { IMAGE } from './schema.ts';
import { findFile } from './storage.ts';
import type { WantedImage } from './wanted-image.ts';

export interface Bringing {
  readonly wanted: WantedImage;
  readonly place: FilePlace;
  /** What is known of a file that is there already. */
  readonly remembered: FileRecord | undefined;
  /** Whatever is there, and is not the right file, may go. */
  readonly replace: boolean;
}

export interface Brought {
  /** Undefined where something is wrong. */
  readonly file: FileRecord | undefined;
  readonly shared: boolean;
  /** Problems, or warnings about what could not be checked. */
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export async function bring(
  context: ImageContext,
  surroundings: Surroundings,
  { wanted, place, remembered, replace }: Bringing,
): Promise<Brought> {
  const { image, timeouts } = wanted;
  const stack = stackOf(surroundings, { images: [image] }, timeouts);
  const state = stateWith(surroundings, remembered);
  return surroundings.withImageSources((sources) =>
    withEngineRun(surroundings, { stack, state, secrets: new Map(), sources }, context.runLabel(), async (session) => {
      const planned = await session.plan(replace ? { replace: [image.address] } : {});
      const problems = await carryOut(session, planned, IMAGE);
      const shared = planned.ok && planned.plan.changes.some(({ address }) => address === image.address);
      if (problems.length > 0) return { file: undefined, shared, diagnostics: problems };
      const warnings = planned.ok ? planned.plan.warnings.map(warned) : [];
      const file = session.state.files[keyOf(place)] ?? (await asFound(surroundings, wanted, place));
      return { file, shared, diagnostics: warnings };
    }),
  );
}

export function stateWith({ work }: Surroundings, file: FileRecord | undefined): StackState {
  const files = file ? { [fileKey(file.node, file.volid)]: file } : {};
  return { ...emptyState(ownerName(work)), files };
}

/** A file that was there and is taken as it is. */
async function asFound(
  { work, signal }: Surroundings,
  wanted: WantedImage,
  place: FilePlace,
): Promise<FileRecord | undefined> {
  const entry = await findFile(work, place, signal);
  return entry && fileOf(wanted, place, entry);
}

export function fileOf({ image }: WantedImage, place: FilePlace, { size, ctime }: VolumeEntry): FileRecord {
  const { url, sha256, sha512 } = image.fields;
  return {
    address: image.address,
    node: place.node,
    volid: volidOf(place),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
    sizeBytes: size ?? 0,
    ...(ctime !== undefined && { ctime }),
  };
}

const warned = (warning: Diagnostic) => diagnosticAt(warning, IMAGE.attributes);
