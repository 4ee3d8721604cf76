/**
 * The plan of each image, for each storage that has to hold it. A file that is right stays; a wrong one is reported, and
 * replaced only on request. A storage reports only size and time of a file, so the state records what was transferred. Pure.
 */

import { type Address, addressOf, covers } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import { behaves, type ServerVersion } from '../../pve/compatibility.ts';
import { type Change, type ChangeKind, UNDETAILED } from '../change.ts';
import type { StackState } from '../recorded.ts';
import type { Step } from '../step.ts';
import { replacing } from './actions/failures.ts';
import { imageCompression, imageVolid, isUnpackedByServer } from './file.ts';
import type { ImageSite } from './observed.ts';
import type { FileRecord } from './record.ts';
import { fileKey, isSameFile } from './record.ts';
import type { ResolvedImage } from './stack.ts';
import { type DeclaredSums, declaredChecksum, type FilePlace, fileStep, type ImageOrigin } from './steps.ts';

export interface ImagePlan {
  readonly change: Change;
  readonly steps: readonly Step[];
  readonly site: ImageSite;
}

export interface ImagePlanInput {
  readonly sites: readonly ImageSite[];
  readonly version: ServerVersion;
  readonly state: StackState;
  readonly replace?: readonly string[] | undefined;
}

export interface ImagePlans {
  readonly plans: readonly ImagePlan[];
  readonly problems: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

export function planImages({ sites, version, state, replace = [] }: ImagePlanInput): ImagePlans {
  const plans: ImagePlan[] = [];
  const problems: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  for (const site of sites) {
    const address = siteAddress(site);
    const isReplaced = replace.some((selector) => covers(selector, address));
    const verdict = verdictOn(site, version, state, isReplaced);
    if (verdict.kind === 'refused') problems.push(verdict.problem);
    else plans.push({ change: changeOf(site, verdict.kind, verdict.reason), steps: stepsOf(site, verdict), site });
    if ('warning' in verdict && verdict.warning) warnings.push(verdict.warning);
  }
  return { plans, problems, warnings };
}

/** `image.talos["pve1"]` if each node has its own file, `image.talos` if they share one. */
export function siteAddress({ image, node, isShared }: ImageSite): Address {
  return isShared ? image.address : addressOf('image', image.name, node);
}

type Verdict =
  | { readonly kind: 'none' | 'create' | 'update' | 'replace'; readonly reason: string; readonly warning?: Diagnostic }
  | { readonly kind: 'refused'; readonly problem: Diagnostic };

function verdictOn(site: ImageSite, version: ServerVersion, state: StackState, isReplaced: boolean): Verdict {
  const problem = releaseProblem(site, version) ?? placeProblem(site);
  if (problem) return { kind: 'refused', problem };
  if (!site.file.ok) return { kind: 'refused', problem: unread(site, site.file.needs) };
  const { value: observed } = site.file;
  const { image } = site;
  if (!observed) return { kind: 'create', reason: makingReason(image) };
  if (isReplaced) return { kind: 'replace', reason: 'It is deleted and transferred again, because you asked for it.' };
  const recorded = recordedAt(site, state);
  if (!recorded) {
    if (isChecked(image)) return { kind: 'update', reason: 'It already exists; Proxmox compares its checksum.' };
    return { kind: 'none', reason: 'It already exists.', warning: unchecked(site) };
  }
  if (recorded.incomplete) return { kind: 'update', reason: 'An earlier run was interrupted during its transfer.' };
  const change = changedSince(image, recorded, observed);
  if (change !== undefined) return { kind: 'refused', problem: wrong(site, change) };
  // The checksum was not declared when it was transferred; Proxmox can compare it without downloading it again.
  return isChecked(image) && !isSumKnown(image, recorded)
    ? { kind: 'update', reason: 'The file now declares a checksum; Proxmox compares it.' }
    : { kind: 'none', reason: 'It is unchanged since it was transferred.' };
}

/** On shared storage another node may have transferred it. */
function recordedAt({ image, node, isShared }: ImageSite, { files }: StackState): FileRecord | undefined {
  const volid = volumeOf(image);
  const known = files[fileKey(node, volid)];
  return known ?? (isShared ? Object.values(files).find((file) => file.volid === volid) : undefined);
}

/** Proxmox can compare only what it downloads itself and does not unpack; otherwise the whole file would be uploaded again. */
function isChecked({ fields }: ResolvedImage): boolean {
  return (
    (fields.sha256 ?? fields.sha512) !== undefined && actionOf(fields) === 'image.fetch' && !imageCompression(fields)
  );
}

/** Completes "… since it was transferred"; undefined if nothing changed. */
function changedSince(
  { fields }: ResolvedImage,
  recorded: FileRecord,
  observed: { readonly sizeBytes: number | undefined; readonly ctime: number | undefined },
): string | undefined {
  const isSent = actionOf(fields) === 'image.send';
  if (isSent && hasNewChecksum(fields, recorded)) return 'the checksum changed';
  if (!isSent && (differs(recorded.sha256, fields.sha256) || differs(recorded.sha512, fields.sha512))) {
    return 'the checksum changed';
  }
  // The same bytes from another URL are the same file.
  const isSame = !isSent && (isEqual(recorded.sha256, fields.sha256) || isEqual(recorded.sha512, fields.sha512));
  if (recorded.url !== fields.url && !isSame) return 'the url changed';
  return isSameFile(recorded, { size: observed.sizeBytes, ctime: observed.ctime })
    ? undefined
    : 'the file was changed outside Proxwright';
}

/** For an upload the state records the checksum of its bytes, and the declared one, which may be that of the packed file. */
function hasNewChecksum(fields: ResolvedImage['fields'], { declared, sha256 }: FileRecord): boolean {
  const now = declaredChecksum(fields as DeclaredSums)?.value; // what is absent there is undefined here
  if (declared !== undefined || imageCompression(fields) !== undefined) return differs(declared, now);
  return differs(sha256, fields.sha256);
}

/** Only two known checksums can differ: declaring one, or removing it from the file, changes no bytes. */
function differs(recorded: string | undefined, declared: string | undefined): boolean {
  return recorded !== undefined && declared !== undefined && !isEqual(recorded, declared);
}

function isEqual(recorded: string | undefined, declared: string | undefined): boolean {
  return recorded !== undefined && recorded.toLowerCase() === declared?.toLowerCase();
}

/** Every declared checksum is the recorded one. */
function isSumKnown({ fields: { sha256, sha512 } }: ResolvedImage, recorded: FileRecord): boolean {
  return (
    (sha256 === undefined || isEqual(recorded.sha256, sha256)) &&
    (sha512 === undefined || isEqual(recorded.sha512, sha512))
  );
}

export function volumeOf({ fields, file }: ResolvedImage): string {
  return imageVolid(fields.storage, fields.content, file);
}

/** Tokens that users of the file depend on: for its node, or for every node if the storage is shared. */
export function volumeTokens({ image, node, isShared }: ImageSite): string[] {
  return [`volume:${isShared ? '*' : node}/${volumeOf(image)}`];
}

const actionOf = ({ path, via }: ResolvedImage['fields']) =>
  path !== undefined || via === 'upload' ? 'image.send' : 'image.fetch';

function makingReason({ fields: { url, path, via } }: ResolvedImage): string {
  if (path !== undefined) return `${path} is uploaded to the storage.`;
  return via === 'upload' ? `Proxwright downloads ${url} and uploads it to the storage.` : `Proxmox downloads ${url}.`;
}

function stepsOf(site: ImageSite, { kind }: { readonly kind: ChangeKind }): Step[] {
  if (kind === 'none') return [];
  const { image, node } = site;
  const { url, path, storage, content, sha256, sha512 } = image.fields;
  const place: FilePlace = { node, storage, content, file: image.file };
  const sums = {
    ...(sha256 !== undefined && { sha256: sha256.toLowerCase() }),
    ...(sha512 !== undefined && { sha512: sha512.toLowerCase() }),
  };
  const compression = imageCompression(image.fields);
  const replace = kind === 'replace' && { replace: true };
  const address = siteAddress(site);
  if (url !== undefined && actionOf(image.fields) === 'image.fetch') {
    const unpacks = compression !== undefined && isUnpackedByServer(content, compression) && { compression };
    return [fileStep(address, 'image.fetch', { ...place, url, ...sums, ...unpacks, ...replace })];
  }
  const common = { ...sums, ...(compression !== undefined && { compression }) };
  const origin: ImageOrigin =
    path === undefined ? { kind: 'download', url: url ?? '', ...common } : { kind: 'file', path, ...common };
  return [fileStep(address, 'image.send', { ...place, origin, ...replace })];
}

function changeOf(site: ImageSite, kind: ChangeKind, reason: string): Change {
  return {
    address: siteAddress(site),
    kind,
    name: volumeOf(site.image),
    node: site.node,
    vmid: undefined,
    reason,
    ...UNDETAILED,
  };
}

function whereOfImage({ positions, address }: ResolvedImage, field: string) {
  return { ...(positions[field] ?? positions['']), address, ...(field !== '' && { field }) };
}

/** What this release of Proxmox VE cannot do, on any storage. */
function releaseProblem({ image }: ImageSite, server: ServerVersion): Diagnostic | undefined {
  const { content } = image.fields;
  if (content === 'import' && !behaves(server, 'images to import through the API')) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where: whereOfImage(image, 'content'),
      detail: `Proxmox VE ${server.version} accepts no disk images through its API; 8.3 and later do.`,
      hint: 'Upgrade it, or create the template by hand once and name it in clone.template.',
    }).diagnostic;
  }
  const isPacked = actionOf(image.fields) === 'image.fetch' && imageCompression(image.fields) !== undefined;
  if (!isPacked || behaves(server, 'downloads unpacked')) return undefined;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOfImage(image, 'url'),
    detail: `Proxmox VE ${server.version} cannot unpack a download; 8.1 and later can.`,
    hint: advice`Let Proxwright unpack it: ${setting('via', 'upload')}`,
  }).diagnostic;
}

/** The storage must exist, be active, and accept such content. */
function placeProblem({ image, node, row, isRead }: ImageSite): Diagnostic | undefined {
  const { storage, content } = image.fields;
  const where = whereOfImage(image, 'storage');
  if (!row) {
    return new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where,
      detail: isRead
        ? `Node ${node} has no storage "${storage}" that the token may see.`
        : `The storages of node ${node} cannot be read, so Proxwright cannot tell whether "${storage}" exists.`,
      hint: advice`Correct the name, or grant Datastore.Audit and Datastore.AllocateTemplate on it: ${command('permissions')}`,
    }).diagnostic;
  }
  if (!row.enabled || !row.active) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where,
      detail: `Storage "${storage}" is ${row.enabled ? 'not active' : 'disabled'} on ${node}.`,
      hint: 'Enable it, or choose another storage.',
    }).diagnostic;
  }
  if (row.content.has(content)) return undefined;
  const contents = [...row.content, content].join(',');
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where,
    detail: `Storage "${storage}" does not hold ${content === 'iso' ? 'ISO images' : 'images to import'}; its content types are ${[...row.content].join(', ')}.`,
    hint: `Allow it: ${nodeCommand('pvesm set', [storage], { content: contents })}. Or choose another storage.`,
  }).diagnostic;
}

function unread({ image }: ImageSite, needs: string): Diagnostic {
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    where: whereOfImage(image, 'storage'),
    detail: `Proxwright cannot tell whether ${volumeOf(image)} exists: the token needs ${needs}.`,
    hint: advice`Show the smallest role for this stack: ${command('permissions')}`,
  }).diagnostic;
}

function unchecked({ image, node }: ImageSite): Diagnostic {
  return {
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail: `${volumeOf(image)} already exists on ${node}, and its content is unknown: the state has no record of it, and ${
      (image.fields.sha256 ?? image.fields.sha512)
        ? 'the declared checksum is that of the packed file'
        : 'no checksum is declared'
    }. Proxwright uses it as it is.`,
    where: whereOfImage(image, ''),
  };
}

function wrong({ image, node }: ImageSite, change: string): Diagnostic {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    where: whereOfImage(image, ''),
    detail: `${volumeOf(image)} on ${node} is no longer the file that the stack declares: ${change} since it was transferred. Proxwright keeps it.`,
    hint: advice`Give the image another name, which keeps both files: ${setting('file', '…')}. ${replacing(image.address, volumeOf(image))}`,
  }).diagnostic;
}
