/**
 * The verdict on each image, at each place that is to have it. There and right: nothing happens. There and wrong: said, and
 * replaced only on request. What Proxmox holds can be told by size and time alone, so what we brought is remembered. Pure.
 */
import { type Address, addressOf, covers } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { behaves, type ServerVersion } from '../../pve/compatibility.ts';
import { type Change, type ChangeKind, UNDETAILED } from '../change.ts';
import type { ImageSite } from '../observed.ts';
import type { StackState } from '../recorded.ts';
import type { ResolvedImage } from '../stack.ts';
import type { Step } from '../step.ts';
import { imageCompression, imageVolid, isUnpackedByServer } from './file.ts';
import type { FileRecord } from './record.ts';
import { fileKey, isSameFile } from './record.ts';
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

/** `image.talos["pve1"]` where each node has its own, `image.talos` where they share one. */
export function siteAddress({ image, node, isShared }: ImageSite): Address {
  return isShared ? image.address : addressOf('image', image.name, node);
}

type Verdict =
  | { readonly kind: 'none' | 'create' | 'update' | 'replace'; readonly reason: string; readonly warning?: Diagnostic }
  | { readonly kind: 'refused'; readonly problem: Diagnostic };

function verdictOn(site: ImageSite, version: ServerVersion, state: StackState, isReplaced: boolean): Verdict {
  const problem = releaseProblem(site, version) ?? placeProblem(site);
  if (problem) return { kind: 'refused', problem };
  if (!site.found.ok) return { kind: 'refused', problem: unread(site, site.found.needs) };
  const { value: found } = site.found;
  const { image } = site;
  if (!found) return { kind: 'create', reason: makingReason(image) };
  if (isReplaced) return { kind: 'replace', reason: 'It is deleted and brought again, as asked for.' };
  const remembered = rememberedAt(site, state);
  if (!remembered) {
    if (isChecked(image)) return { kind: 'update', reason: 'It is there already; Proxmox compares its checksum.' };
    return { kind: 'none', reason: 'It is there already.', warning: unchecked(site) };
  }
  if (remembered.incomplete) return { kind: 'update', reason: 'An earlier run did not see the end of its coming.' };
  const change = changedSince(image, remembered, found);
  if (change !== undefined) return { kind: 'refused', problem: wrong(site, change) };
  // A sum that was not known when it came: the server can tell without fetching it again.
  return isChecked(image) && !isSumKnown(image, remembered)
    ? { kind: 'update', reason: 'Its checksum is new in the file; Proxmox compares it.' }
    : { kind: 'none', reason: 'It is there, as it was brought.' };
}

/** On shared storage another node may have brought it: the one that does the work now need not be the one that did. */
function rememberedAt({ image, node, isShared }: ImageSite, { files }: StackState): FileRecord | undefined {
  const volid = volumeOf(image);
  const known = files[fileKey(node, volid)];
  return known ?? (isShared ? Object.values(files).find((file) => file.volid === volid) : undefined);
}

/** Only what Proxmox fetches itself, as it is, can it compare without our sending the whole file. */
function isChecked({ fields }: ResolvedImage): boolean {
  return (fields.sha256 ?? fields.sha512) !== undefined && howOf(fields) === 'image.fetch' && !imageCompression(fields);
}

/** Completes "… since it was brought"; undefined where nothing did. */
function changedSince(
  { fields }: ResolvedImage,
  remembered: FileRecord,
  found: { readonly sizeBytes: number | undefined; readonly ctime: number | undefined },
): string | undefined {
  const isSent = howOf(fields) === 'image.send';
  if (isSent && isDeclaredAnew(fields, remembered)) return 'the checksum changed';
  if (!isSent && (differs(remembered.sha256, fields.sha256) || differs(remembered.sha512, fields.sha512))) {
    return 'the checksum changed';
  }
  // The same bytes from elsewhere are the same file.
  const isSame = !isSent && (isEqual(remembered.sha256, fields.sha256) || isEqual(remembered.sha512, fields.sha512));
  if (remembered.url !== fields.url && !isSame) return 'the url changed';
  return isSameFile(remembered, { size: found.sizeBytes, ctime: found.ctime })
    ? undefined
    : 'somebody changed the file';
}

/** Of what we sent, the sum of its bytes is remembered, and beside it what was declared: perhaps that of the packed file. */
function isDeclaredAnew(fields: ResolvedImage['fields'], { declared, sha256 }: FileRecord): boolean {
  const now = declaredChecksum(fields as DeclaredSums)?.value; // what is absent there is undefined here
  if (declared !== undefined || imageCompression(fields) !== undefined) return differs(declared, now);
  return differs(sha256, fields.sha256);
}

/** Only what is known on both sides can be told apart: a sum that comes into the file or leaves it changes no bytes. */
function differs(remembered: string | undefined, declared: string | undefined): boolean {
  return remembered !== undefined && declared !== undefined && !isEqual(remembered, declared);
}

function isEqual(remembered: string | undefined, declared: string | undefined): boolean {
  return remembered !== undefined && remembered.toLowerCase() === declared?.toLowerCase();
}

/** Every sum that the file declares is that of what was brought. */
function isSumKnown({ fields: { sha256, sha512 } }: ResolvedImage, remembered: FileRecord): boolean {
  return (
    (sha256 === undefined || isEqual(remembered.sha256, sha256)) &&
    (sha512 === undefined || isEqual(remembered.sha512, sha512))
  );
}

export function volumeOf({ fields, file }: ResolvedImage): string {
  return imageVolid(fields.storage, fields.content, file);
}

/** Names of the file by which those who use it find it: on its node, or on every node where the storage is shared. */
export function volumeTokens({ image, node, isShared }: ImageSite): string[] {
  return [`volume:${isShared ? '*' : node}/${volumeOf(image)}`];
}

const howOf = ({ path, via }: ResolvedImage['fields']) =>
  path !== undefined || via === 'upload' ? 'image.send' : 'image.fetch';

function makingReason({ fields: { url, path, via } }: ResolvedImage): string {
  if (path !== undefined) return `${path} is sent to the storage.`;
  return via === 'upload' ? `${url} is fetched here and sent to the storage.` : `Proxmox fetches ${url}.`;
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
  if (url !== undefined && howOf(image.fields) === 'image.fetch') {
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

/** What this release cannot do at all, whatever the storage. */
function releaseProblem({ image }: ImageSite, server: ServerVersion): Diagnostic | undefined {
  const { content } = image.fields;
  if (content === 'import' && !behaves(server, 'images to import through the API')) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where: whereOfImage(image, 'content'),
      detail: `Proxmox VE ${server.version} takes no disk images through its API; that came with 8.3.`,
      hint: 'Upgrade it, or make the template by hand once, and name it in clone.template.',
    }).diagnostic;
  }
  const isPacked = howOf(image.fields) === 'image.fetch' && imageCompression(image.fields) !== undefined;
  if (!isPacked || behaves(server, 'downloads unpacked')) return undefined;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOfImage(image, 'url'),
    detail: `Proxmox VE ${server.version} unpacks nothing while it downloads; that came with 8.1.`,
    hint: advice`Let Proxwright unpack it: ${setting('via', 'upload')}`,
  }).diagnostic;
}

/** The storage is there, active, and holds such content. */
function placeProblem({ image, node, row, isRead }: ImageSite): Diagnostic | undefined {
  const { storage, content } = image.fields;
  const where = whereOfImage(image, 'storage');
  if (!row) {
    return new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where,
      detail: isRead
        ? `Node ${node} has no storage "${storage}" that the token may see.`
        : `The storages of node ${node} cannot be read, so nobody can say whether "${storage}" is there.`,
      hint: advice`Correct the name, or grant Datastore.Audit and Datastore.AllocateTemplate on it: ${command('permissions')}`,
    }).diagnostic;
  }
  if (!row.enabled || !row.active) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where,
      detail: `Storage "${storage}" is ${row.enabled ? 'not active' : 'disabled'} on ${node}.`,
      hint: 'Bring it back, or choose another storage.',
    }).diagnostic;
  }
  if (row.content.has(content)) return undefined;
  const wanted = [...row.content, content].join(',');
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where,
    detail: `Storage "${storage}" does not hold ${content === 'iso' ? 'ISO images' : 'images to import'}; it is for ${[...row.content].join(', ')}.`,
    hint: `Let it: pvesm set ${storage} --content ${wanted}. Or choose another storage.`,
  }).diagnostic;
}

function unread({ image }: ImageSite, needs: string): Diagnostic {
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    where: whereOfImage(image, 'storage'),
    detail: `Whether ${volumeOf(image)} is there cannot be read: it needs ${needs}.`,
    hint: advice`The smallest role for this stack: ${command('permissions')}`,
  }).diagnostic;
}

function unchecked({ image, node }: ImageSite): Diagnostic {
  return {
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail: `${volumeOf(image)} is on ${node} already, and nobody can say what is in it: nobody remembers bringing it, and ${
      (image.fields.sha256 ?? image.fields.sha512)
        ? 'its checksum is that of the packed file'
        : 'the file gives no checksum'
    }. It is used as it is.`,
    where: whereOfImage(image, ''),
  };
}

function wrong({ image, node }: ImageSite, change: string): Diagnostic {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    where: whereOfImage(image, ''),
    detail: `${volumeOf(image)} on ${node} is not what the file asks for any more: ${change} since it was brought. It is kept.`,
    hint: advice`Bring it again in its place: ${command('apply', '--replace', image.address)}. Or keep both: give this one another name with ${setting('file', '…')}`,
  }).diagnostic;
}
