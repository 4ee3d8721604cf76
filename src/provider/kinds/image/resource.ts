/**
 * `proxwright_image`. A create that fails returns no state. The next create waits for what a process that died had started,
 * recognizes it by its task, and does not start it again. A file that existed before its resource is never deleted.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import { sourceOf } from '../../../convert/mapping/sources.ts';
import { placeOfVolume } from '../../../kinds/image/file.ts';
import { type FileRecord, fileKey, isSameFile } from '../../../kinds/image/record.ts';
import { type FilePlace, keyOf } from '../../../kinds/image/steps.ts';
import { filledIn, valueIn } from '../../adapter/attributes.ts';
import type { Deps, DepsOf } from '../../adapter/deps.ts';
import { EMPTY_STACK, type EngineWork, runEngine } from '../../adapter/engine-run.ts';
import type { Applied, Held, Planned, ResourceKind } from '../../adapter/kind.ts';
import { resourceOf } from '../../adapter/resource.ts';
import { type CtyObject, objectOf } from '../../cty/value.ts';
import type { MoveRequest, ProviderDiagnostic, ResourceType } from '../../provider.ts';
import { diagnosticAt } from '../../values/diagnostics.ts';
import { nothingOf } from '../../values/from-fields.ts';
import { type DesiredImage, desiredImage, IMAGE, IMAGE_SCHEMA } from './desired.ts';
import {
  findFile,
  IMAGE_PRIVATE_STATE,
  type ImagePrivate,
  placeOfState,
  recordedFile,
  settleEarlier,
} from './files.ts';
import { planImageCreate, planImageUpdate, stayingWarning } from './plan.ts';

export function imageResource(depsOf: DepsOf): ResourceType {
  return resourceOf(imageKind(), depsOf);
}

export function imageKind(): ResourceKind<DesiredImage, ImagePrivate> {
  /** Files in the host's state. To replace one, the host deletes it before the new one arrives. */
  const known = new Set<string>();
  return {
    subject: IMAGE,
    schema: IMAGE_SCHEMA,
    privateState: IMAGE_PRIVATE_STATE,
    desired: desiredImage,
    noteState: (state) => known.add(keyOf(placeOfState(state))),
    read,
    planCreate: async (_, request) => planImageCreate((place) => known.has(keyOf(place)), request),
    planUpdate: async (_, request, prior) => planImageUpdate(request, prior),
    planDestroy: ({ state, kept }) => ({ notes: kept.brought ? [] : [stayingWarning(state)] }),
    create,
    update,
    destroy,
    import: importFile,
    move: movedImage,
  };
}

/**
 * From `proxmox_virtual_environment_download_file`: the same file. It is deleted with this resource, as it would have
 * been with that one.
 */
function movedImage({ sourceType, sourceState }: MoveRequest): Held<ImagePrivate> {
  const known = sourceOf(sourceType)?.to === 'proxwright_image';
  const source: Readonly<Record<string, unknown>> = isRecord(sourceState) ? sourceState : {};
  const text = (name: string) =>
    typeof source[name] === 'string' && source[name] !== '' ? String(source[name]) : null;
  const [id, node, algorithm] = [text('id'), text('node_name'), text('checksum_algorithm')];
  if (!known || id === null || node === null) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `A ${sourceType} cannot become a proxwright_image.`,
      hint: 'Remove it from the state and import the file: terraform state rm, then terraform import ADDRESS node/volume.',
    });
  }
  const { storage, content, file } = placeOfVolume(id);
  const checksum = (name: string) => (algorithm === name ? text('checksum') : null);
  const shown = {
    ...nothingOf(IMAGE_SCHEMA.attributes),
    ...{ id, node, storage, content, file, url: text('url'), sha256: checksum('sha256'), sha512: checksum('sha512') },
  };
  return { state: objectOf(Object.entries(shown)), kept: { brought: true, shared: false } };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Whether the file exists, and is still the one that was recorded. */
async function read(deps: Deps, { state, kept }: Held<ImagePrivate>): Promise<Held<ImagePrivate> | null> {
  const place = placeOfState(state);
  const entry = await findFile(deps.looks, place, deps.signal);
  if (!entry) return null;
  const { size, ctime, volid } = entry;
  const shown = objectOf(Object.entries({ ...state, size_bytes: size ?? 0 }));
  if (kept.file && isSameFile(kept.file, entry)) return { state: shown, kept };
  const file = {
    address: '',
    ...kept.file,
    node: place.node,
    volid,
    sizeBytes: size ?? 0,
    ...(ctime !== undefined && { ctime }),
  };
  // A file that we did not create belongs to another client, who may change it. One that was moved is recorded now.
  const isChanged = (kept.brought && kept.file !== undefined) || kept.changed === true;
  return { state: shown, kept: { ...kept, file, ...(isChanged && { changed: true }) } };
}

async function create(deps: Deps, { planned, desired }: Planned<DesiredImage>): Promise<Applied<ImagePrivate>> {
  const { place } = desired;
  if (!place) return { diagnostics: [] };
  await settleEarlier(deps, place);
  // A file that exists before its resource may be that of another stack with the same token, so it is not ours to remove.
  const wasAbsent = (await findFile(deps.work, place, deps.signal)) === undefined;
  const { file, shared, diagnostics } = await transferFile(deps, { desired, place });
  if (!file) return { diagnostics };
  const brought = wasAbsent && !file.foreign;
  return { now: finished(planned, { file, shared, brought }), diagnostics };
}

/** Nothing changes in the storage. A checksum that is new is compared with the file. */
async function update(
  deps: Deps,
  { planned, desired }: Planned<DesiredImage>,
  { state, kept }: Held<ImagePrivate>,
): Promise<Applied<ImagePrivate>> {
  const { place, image } = desired;
  if (!place) return { diagnostics: [] };
  const { brought } = kept;
  const isNew = (name: string) => valueIn(state, name) === null && valueIn(planned, name) !== null;
  if (isNew('sha256') || isNew('sha512')) {
    const { file, shared, diagnostics } = await transferFile(deps, { desired, place });
    return file ? { now: finished(planned, { file, shared, brought }), diagnostics } : { diagnostics };
  }
  const entry = await findFile(deps.work, placeOfState(state), deps.signal);
  const { sha256, sha512, url } = image.fields;
  const file = {
    address: image.address,
    sizeBytes: entry?.size ?? 0,
    ...kept.file,
    node: place.node,
    volid: String(state.id),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
  };
  return { now: finished(planned, { file, shared: kept.shared, brought }), diagnostics: [] };
}

/** Deletes only a file that we created, and only as it was last read. */
async function destroy(deps: Deps, { state, kept }: Held<ImagePrivate>): Promise<Applied<ImagePrivate>> {
  if (!kept.brought) return { now: null, diagnostics: [stayingWarning(state)] };
  const { timeouts } = desiredImage(state);
  const work = { desired: EMPTY_STACK, recorded: filesWith(kept.file), secrets: new Map(), timeouts };
  const { problems } = await runEngine(deps, work, IMAGE, (session) =>
    session.planDestroy({ running: 'refuse', all: true }),
  );
  return problems.length > 0 ? { diagnostics: problems } : { now: null, diagnostics: [] };
}

/** Takes over a file by `node/volume`. It does not change, and it stays when its resource is destroyed. */
async function importFile({ looks, signal }: Deps, id: string): Promise<Held<ImagePrivate>> {
  const [, node, volid] = /^([^/:]+)\/([^:]+:(?:import|iso)\/.+)$/.exec(id.trim()) ?? [];
  const hint = 'Use node/volume: pve1/local:import/noble.qcow2.';
  if (node === undefined || volid === undefined) {
    throw new ProxwrightError({ code: 'BAD_VALUE', detail: `"${id}" is not the id of an image in a storage.`, hint });
  }
  const place = { node, ...placeOfVolume(volid) };
  const entry = await findFile(looks, place, signal);
  if (!entry) throw new ProxwrightError({ code: 'NOT_FOUND', detail: `${node} does not list ${volid}.`, hint });
  const { size, ctime } = entry;
  const found = { ...place, id: volid, size_bytes: size ?? 0 };
  const file = { address: '', node, volid, sizeBytes: size ?? 0, ...(ctime !== undefined && { ctime }) };
  return {
    state: objectOf(Object.entries({ ...nothingOf(IMAGE_SCHEMA.attributes), ...found })),
    kept: { file, brought: false, shared: false },
  };
}

interface Transfer {
  readonly desired: DesiredImage;
  readonly place: FilePlace;
}

interface Transferred {
  /** Undefined where something went wrong. */
  readonly file: FileRecord | undefined;
  readonly shared: boolean;
  /** Problems, or warnings about what could not be checked. */
  readonly diagnostics: readonly ProviderDiagnostic[];
}

/** Lets the engine download or upload the file, unless the right one exists already. */
async function transferFile(deps: Deps, { desired, place }: Transfer): Promise<Transferred> {
  const { image, timeouts } = desired;
  const work: EngineWork = {
    desired: { ...EMPTY_STACK, images: [image] },
    recorded: filesWith(undefined),
    secrets: new Map(),
    timeouts,
  };
  const { problems, plan, state } = await deps.withSources((sources) =>
    runEngine(deps, work, IMAGE, (session) => session.plan(), sources),
  );
  // The engine gives an image on a local storage one address for each node.
  const shared = plan?.changes.some(({ address }) => address === image.address) ?? false;
  if (problems.length > 0) return { file: undefined, shared, diagnostics: problems };
  const warnings = plan?.warnings.map((warning) => diagnosticAt(warning, IMAGE.attributes)) ?? [];
  return { file: state.files[keyOf(place)] ?? (await asFound(deps, desired, place)), shared, diagnostics: warnings };
}

function filesWith(file: FileRecord | undefined): EngineWork['recorded'] {
  return { files: file ? { [fileKey(file.node, file.volid)]: file } : {} };
}

/** A file that existed already and is used as it is. */
async function asFound(
  { work, signal }: Deps,
  desired: DesiredImage,
  place: FilePlace,
): Promise<FileRecord | undefined> {
  const entry = await findFile(work, place, signal);
  return entry && recordedFile(desired, place, entry);
}

type WithFile = ImagePrivate & { readonly file: FileRecord };

/** As planned, with what only the server knew filled in. */
function finished(planned: CtyObject, kept: WithFile): Held<ImagePrivate> {
  const computed: CtyObject = { id: kept.file.volid, size_bytes: kept.file.sizeBytes };
  const file = kept.brought ? asOurs(kept.file) : kept.file;
  return { state: filledIn(IMAGE_SCHEMA.attributes, planned, computed), kept: { ...kept, file } };
}

/** The engine treats a file that this run did not create as another client's. The host's state says that it is ours. */
function asOurs({ foreign: _, ...file }: FileRecord): FileRecord {
  return file;
}
