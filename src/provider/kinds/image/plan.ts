/** What a plan says about an image: where its file will be, what replaces it, and whether the engine could do it. */
import { ProxwrightError } from '../../../base/errors.ts';
import type { Observed } from '../../../engine/index.ts';
import { imageCompression } from '../../../kinds/image/file.ts';
import type { ImageSite } from '../../../kinds/image/observed.ts';
import { type FilePlace, volidOf } from '../../../kinds/image/steps.ts';
import { picked, valueIn } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { EMPTY_STACK } from '../../adapter/engine-run.ts';
import { type Configured, type Held, isRefused, type PlanDraft } from '../../adapter/kind.ts';
import { problemOf } from '../../adapter/outcome.ts';
import { findingsOf, planWithEngine } from '../../adapter/plan-checks.ts';
import { attribute } from '../../cty/path.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../../cty/value.ts';
import type { ProviderDiagnostic } from '../../provider.ts';
import { equalValues } from '../../values/equal.ts';
import { type DesiredImage, hasChecksum, IMAGE, USER_ATTRIBUTES } from './desired.ts';
import type { ImagePrivate } from './files.ts';

export function planImageCreate(
  isKnown: (place: FilePlace) => boolean,
  { config, desired }: Configured<DesiredImage>,
): PlanDraft {
  return {
    planned: objectOf(Object.entries({ ...plannedAttributes(config, desired), size_bytes: UNKNOWN })),
    check: (deps) => createFindings(isKnown, deps, desired),
  };
}

export function planImageUpdate(
  { config, desired }: Configured<DesiredImage>,
  { state, kept }: Held<ImagePrivate>,
): PlanDraft {
  const size = kept.changed ? UNKNOWN : valueIn(state, 'size_bytes');
  const planned = objectOf(Object.entries({ ...plannedAttributes(config, desired), size_bytes: size }));
  const replaced = replacements(planned, state, kept);
  return {
    planned,
    replace: replaced.map(({ name }) => [attribute(name)]),
    notes: replacementNotes(replaced, state, planned, kept),
  };
}

/** The volume is known before the file exists, so that resources that use it can be planned too. */
function plannedAttributes(config: CtyObject, { file, image, unknown }: DesiredImage): CtyObject {
  const { storage, content } = image.fields;
  const isPlaced = file !== undefined && !unknown.includes('storage') && !unknown.includes('content');
  return {
    ...picked(USER_ATTRIBUTES, config),
    file: config.file ?? file ?? UNKNOWN,
    id: isPlaced ? volidOf({ node: '', storage, content, file }) : UNKNOWN,
  };
}

/** For an image whose file existed before its resource. */
export function stayingWarning(state: CtyObject): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The file stays',
    detail: `${String(state.id)} on ${String(state.node)} existed before this resource, so it is not deleted with it.`,
  };
}

interface Replacement {
  readonly name: string;
  readonly reason: string;
}

/** Setting a source that the state does not have, as after an import, is no change; removing one is. */
const SOURCES = ['url', 'path'];
/** A checksum that is set later is compared with the existing file. */
const OTHERS = ['storage', 'content', 'file', 'compression', 'sha256', 'sha512'];

function replacements(planned: CtyObject, prior: CtyObject, kept: ImagePrivate): Replacement[] {
  const names = [...SOURCES, ...OTHERS, ...(kept.shared ? [] : ['node'])];
  const changed = names.filter((name) => {
    const before: CtyValue = valueIn(prior, name);
    const after: CtyValue = valueIn(planned, name);
    if (before === null || (after === null && !SOURCES.includes(name))) return false;
    return !equalValues(lowered(name, before), lowered(name, after));
  });
  return [
    ...changed.map((name) => ({ name, reason: `${name} changes` })),
    ...(kept.changed ? [{ name: 'size_bytes', reason: 'another client has written to the file' }] : []),
  ];
}

/** Checksums ignore case. */
function lowered(name: string, value: CtyValue): CtyValue {
  return name.startsWith('sha') && typeof value === 'string' ? value.toLowerCase() : value;
}

function replacementNotes(
  found: readonly Replacement[],
  prior: CtyObject,
  planned: CtyObject,
  kept: ImagePrivate,
): ProviderDiagnostic[] {
  const [first] = found;
  if (!first) return [];
  const path = [attribute(first.name)];
  const why = found.map(({ reason }) => reason).join(', ');
  if (kept.brought || !equalValues(valueIn(prior, 'id'), valueIn(planned, 'id'))) {
    const fate = kept.brought ? 'The file is deleted' : 'The old file stays, because it existed before';
    const detail = `${why}. ${fate}, and the new one is downloaded or uploaded.`;
    return [{ severity: 'warning', summary: 'This image will be replaced', detail, path }];
  }
  return [
    {
      severity: 'error',
      summary: 'The existing file is not managed by this resource',
      detail: `${why}, but ${String(prior.id)} existed before this resource, so it is not deleted. Give the new image another name with file, or delete the old file yourself.`,
      path,
    },
  ];
}

async function createFindings(
  isKnown: (place: FilePlace) => boolean,
  deps: Deps,
  desired: DesiredImage,
): Promise<ProviderDiagnostic[]> {
  const { image, timeouts, place, unknown } = desired;
  if (!place || isRefused(desired)) return [];
  const work = { desired: { ...EMPTY_STACK, images: [image] }, recorded: {}, secrets: new Map(), timeouts };
  let site: ImageSite | undefined;
  const result = await planWithEngine(deps, work, (observed) => {
    const expected = isKnown(place) ? withoutFiles(observed) : observed;
    [site] = expected.images;
    return expected;
  });
  return result.ok && site?.file.ok && site.file.value
    ? existingFile(deps, desired, place, site.file.value)
    : findingsOf(result, IMAGE, { unknown });
}

/** The host deletes the file that it knows before it creates this one. */
function withoutFiles(observed: Observed): Observed {
  return { ...observed, images: observed.images.map((site) => ({ ...site, file: { ok: true, value: undefined } })) };
}

type Existing = NonNullable<(ImageSite['file'] & { ok: true })['value']>;

/** A file that the host does not know has the name. */
async function existingFile(
  deps: Deps,
  desired: DesiredImage,
  place: FilePlace,
  { sizeBytes }: Existing,
): Promise<ProviderDiagnostic[]> {
  const { image } = desired;
  const volume = volidOf(place);
  const expectedBytes = await sizeAtSource(deps, image.fields, place);
  if (expectedBytes !== undefined && sizeBytes !== undefined && expectedBytes !== sizeBytes) {
    const { diagnostic } = new ProxwrightError({
      code: 'FILE_DIFFERS',
      where: { field: 'file' },
      detail: `${volume} already exists on ${place.node} and is another file: it has ${sizeBytes} bytes, the one at ${image.fields.url} has ${expectedBytes}.`,
      hint: 'Give the image another name with file, or delete the existing one.',
    });
    return [problemOf(diagnostic, IMAGE)];
  }
  const isCompared = hasChecksum(desired) && expectedBytes !== undefined;
  const detail = isCompared
    ? `${volume} already exists on ${place.node}. Proxmox compares its checksum; nothing is downloaded, and the file stays when this resource is destroyed.`
    : `${volume} already exists on ${place.node}, and its content is not compared. It is used as it is, and it stays when this resource is destroyed.`;
  return [{ severity: 'warning', summary: 'The file already exists', detail }];
}

/** What the source reports; undefined where it reports nothing, or where the file in the storage is unpacked. */
async function sizeAtSource(
  { looks, signal }: Deps,
  fields: DesiredImage['image']['fields'],
  { node }: FilePlace,
): Promise<number | undefined> {
  if (fields.url === undefined || fields.via === 'upload' || imageCompression(fields) !== undefined) return undefined;
  const metadata = await looks
    .node(node)
    .queryUrlMetadata({ url: fields.url }, { signal })
    .catch(() => undefined);
  return metadata?.size;
}
