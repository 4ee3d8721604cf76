/** Images: files that Proxmox downloads, or that are uploaded, into a storage. */
import { type Address, covers } from '../../base/address.ts';
import { privilegesOf, type ServerVersion } from '../../pve/compatibility.ts';
import type { ActionDefinition, Occupancy } from '../action.ts';
import { type Change, UNDETAILED } from '../change.ts';
import type { DestroyContext, Kind, KindPlan, NeedsContext, PlanContext, ResourcePlan, StepNeeds } from '../kind.ts';
import type { Observed } from '../observed.ts';
import { type Need, storageVisibility } from '../privileges/need.ts';
import type { ResolvedStack } from '../stack.ts';
import { candidatesOf } from '../vm/placement/candidates.ts';
import { fetchImage } from './actions/fetch.ts';
import { removeImage } from './actions/remove.ts';
import { sendImage } from './actions/send.ts';
import { settleFile } from './actions/settle.ts';
import { checkImages, readDownloads } from './doctor.ts';
import { placeOfVolume } from './file.ts';
import { observeImages } from './observe.ts';
import type { ImageSite } from './observed.ts';
import { planImages, siteAddress, volumeOf, volumeTokens } from './plan.ts';
import type { ResolvedImage } from './stack.ts';
import {
  type FileActionName,
  type FileContext,
  type FileInputs,
  type FilePlace,
  fileStep,
  isFileStep,
  needsOfFileStep,
} from './steps.ts';

export const FILE_ACTIONS: { readonly [Name in FileActionName]: ActionDefinition<FileInputs[Name], FileContext> } = {
  'image.fetch': { label: 'transfer', run: fetchImage, settle: settleFile, occupies: transferTo },
  'image.send': {
    label: 'transfer',
    run: sendImage,
    settle: settleFile,
    occupies: transferTo,
    verbs: { create: 'upload', replace: 'upload again' },
    localFiles: ({ origin }) => (origin.kind === 'file' ? [origin.path] : []),
  },
  'image.remove': { label: 'destroy', run: removeImage, settle: settleFile },
};

/** A transfer shares the limits of clones without being a creation. */
function transferTo({ node, storage }: FilePlace): Occupancy {
  return { kind: 'copy', nodes: [node], storages: [storage], isCreation: false };
}

export const imageKind: Kind<FileContext> = {
  prefixes: ['image'],
  words: {
    nouns: { image: 'image' },
    verbs: { create: 'download', update: 'check', replace: 'download again' },
  },
  actions: FILE_ACTIONS,
  declared: ({ images }) => images.map(({ address, fields, file, nodes }) => ({ address, fields, file, nodes })),
  observe: async ({ pve, stack, signal, nodes, storages }) => {
    const images = stack.images.map((image) => withCandidates(image, stack, nodes));
    const names = [...new Set(images.flatMap((image) => image.nodes))].filter((node) => nodes.get(node)?.online);
    const rows = new Map(await Promise.all(names.map(async (node) => [node, await storages(node)] as const)));
    return { storages: rows, images: await observeImages(pve, images, rows, signal) };
  },
  plan: planSites,
  planDestroy: planRemoval,
  unsettled: () => [],
  needs,
  examine: async (context) => ({ downloads: await readDownloads(context) }),
  checks: { images: checkImages },
  assumed: ({ stack }) => ({ observed: { images: stack.images.flatMap(assumedSites) } }),
  visibility: ({ address, field }, { images }) => {
    const image = images.find((each) => each.address === address);
    return image && field?.split('.')[0] === 'storage'
      ? storageVisibility(image.fields.storage, ['Datastore.Audit', 'Datastore.AllocateSpace'])
      : undefined;
  },
};

/** The plan chooses the node of some users: the image may be needed on any of their nodes. */
function withCandidates(image: ResolvedImage, { vms }: ResolvedStack, nodes: Observed['nodes']): ResolvedImage {
  const users = vms.filter(({ address }) => image.chosenFor?.includes(address));
  if (users.length === 0) return image;
  return { ...image, nodes: [...new Set([...image.nodes, ...users.flatMap((vm) => candidatesOf(vm, nodes))])] };
}

/** Whether the file, or a VM whose node is now known, needs the image there. */
function isOnNeededNode({ image, node, isShared }: ImageSite, { images }: ResolvedStack): boolean {
  if (!image.chosenFor) return true;
  const nodes = images.find(({ address }) => address === image.address)?.nodes ?? [];
  return isShared ? nodes.length > 0 : nodes.includes(node);
}

function planSites(context: PlanContext): KindPlan {
  const { state, observed, stack } = context;
  const sites = observed.images.filter((site) => isOnNeededNode(site, stack) && isNeeded(site, context));
  const { plans, problems, warnings } = planImages({
    sites,
    version: observed.version,
    state,
    replace: context.options.replace,
  });
  const resources = plans.map(({ change, steps, site }) => ({ change, steps, provides: volumeTokens(site) }));
  return { resources, problems, warnings };
}

/** Images that are selected, and those that a machine of the plan uses. */
function isNeeded(site: ImageSite, { options: { only = [] }, planned }: PlanContext): boolean {
  if (only.length === 0) return true;
  const volume = volumeOf(site.image);
  const isUsed = planned.some(({ uses = [] }) => uses.some((token) => token.endsWith(`/${volume}`)));
  return isUsed || only.some((selector) => covers(selector, siteAddress(site)) || selector === site.image.address);
}

/** Files that this stack transferred; files that existed before stay. */
function planRemoval({ state, isSelected }: DestroyContext): KindPlan {
  const files = Object.values(state.files).filter(({ address }) => isSelected(address as Address)); // as it was written
  const resources = files.map((file): ResourcePlan => {
    const address = file.address as Address;
    const change: Change = {
      address,
      kind: file.foreign ? 'forget' : 'delete',
      name: file.volid,
      node: file.node,
      vmid: undefined,
      reason: file.foreign
        ? 'It existed before the stack, so it stays. Proxwright removes it from the state.'
        : 'The stack is destroyed, and with it the files that it transferred.',
      ...UNDETAILED,
    };
    const { node, volid } = file;
    return { change, steps: [fileStep(address, 'image.remove', { node, ...placeOfVolume(volid) })] };
  });
  return { resources, problems: [], warnings: [] };
}

function needs({ plan, stack, version }: NeedsContext): StepNeeds[] {
  return plan.steps.filter(isFileStep).map((step) => {
    const image = stack.images.find((each) => covers(each.address, step.address));
    const positions = image?.positions ?? {};
    return {
      needs: needsOfFileStep(step).flatMap((need) => knownNeeds(need, version)),
      step: step.action,
      whereOf: (cause) => {
        const field = 'field' in cause ? cause.field : '';
        return { ...(positions[field] ?? positions['']), address: step.address, ...(field !== '' && { field }) };
      },
    };
  });
}

/** An older release checks other privileges instead of one that it does not have. */
function knownNeeds(need: Need, version: ServerVersion): readonly Need[] {
  if (need.kind !== 'privilege' || !need.instead) return [need];
  const known = privilegesOf(version);
  return need.privileges.some((name) => known.has(name)) ? [need] : need.instead;
}

/** The image is on no storage yet, and every storage accepts it. */
function assumedSites(image: ResolvedImage): ImageSite[] {
  const { storage, content } = image.fields;
  const row = {
    storage,
    type: 'dir',
    content: new Set([content]),
    active: true,
    enabled: true,
    shared: false,
    availableBytes: undefined,
    formats: undefined,
  };
  return image.nodes.map((node) => ({
    image,
    node,
    row,
    isRead: true,
    isShared: false,
    file: { ok: true, value: undefined },
  }));
}
