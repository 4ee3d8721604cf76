/** `PlanResourceChange` of an image: what it will be, and whether that can work. */
import { ProxwrightError } from '../../base/errors.ts';
import { imageCompression } from '../../kinds/image/file.ts';
import { type FilePlace, volidOf } from '../../kinds/image/steps.ts';
import type { ImageSite, Observed } from '../../kinds/observed.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { PlanRequest, PlanResponse, ProviderDiagnostic } from '../provider.ts';
import { checked, isPostponed, planWithEngine } from '../run/checks.ts';
import { problemOf } from '../run/outcome.ts';
import { stackOf } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { equalValues } from '../values/equal.ts';
import { stateWith } from './bring.ts';
import type { ImageContext } from './context.ts';
import { readPrivate } from './private-state.ts';
import { placeOfState } from './read.ts';
import { replacementNotes, replacements } from './replacement.ts';
import { IMAGE, IMAGE_SCHEMA, USER_ATTRIBUTES } from './schema.ts';
import { traceOf } from './storage.ts';
import { type WantedImage, wantedImage } from './wanted-image.ts';

export async function planImageChange(context: ImageContext, request: PlanRequest): Promise<PlanResponse> {
  const { prior, config } = request;
  if (prior) context.remember(placeOfState(prior));
  if (!config || !request.proposed) return planRemoval(request);
  const wanted = wantedImage(config);
  const attributes = plannedAttributes(config, wanted);
  if (prior) return planUpdate(request, prior, attributes);
  const planned = objectOf(Object.entries({ ...attributes, size_bytes: UNKNOWN }));
  const diagnostics = await checked(context.surroundings, IMAGE_SCHEMA.attributes, (surroundings) =>
    findings(context, surroundings, wanted),
  );
  return { planned, requiresReplace: [], private: undefined, diagnostics };
}

/** The volume is known before it is there, so that what is made from it can be planned too. */
function plannedAttributes(config: CtyObject, { file, image, unknown }: WantedImage): CtyObject {
  const { storage, content } = image.fields;
  const isPlaced = file !== undefined && !unknown.includes('storage') && !unknown.includes('content');
  return {
    ...objectOf(Object.keys(USER_ATTRIBUTES).map((name): [string, CtyValue] => [name, config[name] ?? null])),
    file: config.file ?? file ?? UNKNOWN,
    id: isPlaced ? volidOf({ node: '', storage, content, file }) : UNKNOWN,
  };
}

function planUpdate(request: PlanRequest, prior: CtyObject, attributes: CtyObject): PlanResponse {
  const kept = readPrivate(request.private);
  const planned = objectOf(
    Object.entries({ ...attributes, size_bytes: kept?.changed ? UNKNOWN : (prior.size_bytes ?? null) }),
  );
  const replaced = replacements(planned, prior, kept);
  const requiresReplace = replaced.map(({ path }) => path);
  const diagnostics = replacementNotes(replaced, prior, planned, kept);
  const isSame = Object.keys(planned).every((name) => equalValues(planned[name] ?? null, prior[name] ?? null));
  return { planned: isSame ? prior : planned, requiresReplace, private: request.private, diagnostics };
}

function planRemoval({ prior, private: bytes }: PlanRequest): PlanResponse {
  const response = { planned: null, requiresReplace: [], private: bytes };
  if (!prior || readPrivate(bytes)?.brought) return { ...response, diagnostics: [] };
  return { ...response, diagnostics: [staying(prior)] };
}

/** Of an image that was there before its resource. */
export function staying(state: CtyObject): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The file stays',
    detail: `${String(state.id)} on ${String(state.node)} was there before this resource, so it is not deleted with it.`,
  };
}

async function findings(
  context: ImageContext,
  surroundings: Surroundings,
  wanted: WantedImage,
): Promise<ProviderDiagnostic[]> {
  const { image, timeouts, place, problems } = wanted;
  if (!place || problems.length > 0) return [];
  const stack = stackOf(surroundings, { images: [image] }, timeouts);
  const state = stateWith(surroundings, undefined);
  let seen: ImageSite | undefined;
  const result = await planWithEngine(surroundings, { stack, state, secrets: new Map() }, (observed) => {
    const expected = context.isKnown(place) ? withoutFiles(observed) : observed;
    [seen] = expected.images;
    return expected;
  });
  if (!result.ok) {
    return result.problems
      .filter((problem) => !isPostponed(problem, wanted.unknown))
      .map((problem) => problemOf(problem, IMAGE));
  }
  return seen?.found.ok && seen.found.value
    ? presentFile(surroundings, wanted, place, seen.found.value)
    : result.plan.warnings.map((warning) => diagnosticAt(warning, IMAGE.attributes));
}

/** What the host has goes before this one comes. */
function withoutFiles(observed: Observed): Observed {
  return { ...observed, images: observed.images.map((site) => ({ ...site, found: { ok: true, value: undefined } })) };
}

type Present = NonNullable<(ImageSite['found'] & { ok: true })['value']>;

/** A file that the host does not know has the name. */
async function presentFile(
  surroundings: Surroundings,
  { image }: WantedImage,
  place: FilePlace,
  { sizeBytes, ctime }: Present,
): Promise<ProviderDiagnostic[]> {
  const volume = volidOf(place);
  if (await traceOf(surroundings, place, { ctime })) {
    const detail = `${volume} on ${place.node} was brought by an earlier run that could not tell. It is completed, not begun anew.`;
    return [{ severity: 'warning', summary: 'An earlier run brought this image', detail }];
  }
  const expectedBytes = await sizeAtSource(surroundings, image.fields, place);
  if (expectedBytes !== undefined && sizeBytes !== undefined && expectedBytes !== sizeBytes) {
    const { diagnostic } = new ProxwrightError({
      code: 'FILE_DIFFERS',
      where: { field: 'file' },
      detail: `${volume} is on ${place.node} already, and is another file: it has ${sizeBytes} bytes, the one at ${image.fields.url} has ${expectedBytes}.`,
      hint: 'Give the image another name by file, or delete the one that is there.',
    });
    return [problemOf(diagnostic, IMAGE)];
  }
  const isCompared = (image.fields.sha256 ?? image.fields.sha512) !== undefined && expectedBytes !== undefined;
  const detail = isCompared
    ? `${volume} is on ${place.node} already. Proxmox compares its checksum; nothing is downloaded, and the file stays when this resource goes.`
    : `${volume} is on ${place.node} already, and what is in it is not compared. It is taken as it is, and stays when this resource goes.`;
  return [{ severity: 'warning', summary: 'The file is there already', detail }];
}

/** What the source says of itself; undefined where it says nothing, or where the file in the storage is an unpacked one. */
async function sizeAtSource(
  { looks, signal }: Surroundings,
  fields: WantedImage['image']['fields'],
  { node }: FilePlace,
): Promise<number | undefined> {
  if (fields.url === undefined || fields.via === 'upload' || imageCompression(fields) !== undefined) return undefined;
  const told = await looks
    .node(node)
    .queryUrlMetadata({ url: fields.url }, { signal })
    .catch(() => undefined);
  return told?.size;
}
