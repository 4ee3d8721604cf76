/**
 * What must hold after every story that begins with a bare host, asked of the world itself: it converges, and a further
 * apply writes nothing; templates are finished and fit; no image, seed, medium or VM is missing, doubled or left behind;
 * nothing of other clients was touched; and no secret leaked.
 */
import { kindOf } from '../../../../src/base/address.ts';
import { imageVolid } from '../../../../src/kinds/image/file.ts';
import type { StackState } from '../../../../src/kinds/recorded.ts';
import type { ResolvedStack } from '../../../../src/kinds/stack.ts';
import { guestOf } from '../../../../src/kinds/template/building.ts';
import { type TemplateGuest, templateFaults } from '../../../../src/kinds/template/health.ts';
import { propertyOf } from '../../../../src/kinds/vm/config/parts.ts';
import type { Vm, World } from '../../../../src/simulator/world/world.ts';
import { failuresOf, overlapping } from '../../engine/support/invariants.ts';
import { orphans, volumesOf } from '../../engine/support/picture.ts';
import { GUEST_PASSWORD, type RunEnd, resolved, type Scene, TOKEN_SECRET } from '../../engine/support/scene.ts';
import { UNSPEAKABLE } from './stacks.ts';
import { STRANGERS } from './worlds.ts';

export interface Expectations {
  /** Versions of templates that have been superseded: how many of them stand there still; undefined where chance decides. */
  readonly retired?: number | undefined;
  /** Files in storages, beside those of the stack, that were there before. */
  readonly files?: readonly string[];
}

const isOthers = ({ vmid, config }: Vm) =>
  STRANGERS.has(vmid) || config.current.get('name')?.startsWith('another-clients-') === true;

export const ourVms = (world: World): Vm[] => [...world.vms.values()].filter((vm) => !isOthers(vm));

/** Files that lie in storages for images. */
export function filesOf(world: World): string[] {
  return [...world.storages.values()]
    .flatMap(({ id, volumes }) =>
      [...volumes].flatMap(([node, onNode]) =>
        [...onNode.values()]
          .filter(({ content }) => content === 'iso' || content === 'import')
          .map(({ name }) => `${node}/${id}:${name}`),
      ),
    )
    .sort();
}

/** What faults of the kind `stranger-…` do. */
const BY_STRANGERS = new Set(['description', 'lock']);

/** Everything about the VMs and files of other people. */
export function strangersPicture(world: World): string {
  const vms = [...world.vms.values()].filter(({ vmid }) => STRANGERS.has(vmid));
  return JSON.stringify({
    vms: vms.map(({ vmid, node, config, process }) => [
      vmid,
      node,
      [...config.current].filter(([key]) => !BY_STRANGERS.has(key)).sort(),
      process?.pid,
    ]),
    volumes: volumesOf(world)
      .filter(({ vmid, name }) => (vmid !== undefined && STRANGERS.has(vmid)) || name === 'iso/others.iso')
      .map(({ storage, name, sizeBytes, ctime }) => [storage, name, sizeBytes, ctime]),
    access: [...world.access.acl],
  });
}

/** Applies until nothing is left to do, and says what is wrong then. */
export async function complaintsAfter(
  scene: Scene,
  text: string,
  before: string,
  expectations: Expectations = {},
): Promise<string[]> {
  const stack = resolved(text);
  const first = failuresOf(await scene.apply(stack)).map((each) => `apply: ${each}`);
  return [...first, ...(await restlessness(scene, stack)), ...(await complaints(scene, stack, before, expectations))];
}

/** What a further apply would still do. */
export async function restlessness(scene: Scene, stack: string | ResolvedStack): Promise<string[]> {
  const second = await scene.apply(stack);
  const steps = second.kind === 'ended' ? second.plan.steps.map(({ id }) => id) : [];
  return [
    ...failuresOf(second).map((each) => `second apply: ${each}`),
    ...steps.map((id) => `the plan after that is not empty: ${id} ${differencesIn(second)}`),
    ...scene.writes().map((each) => `a second apply writes: ${each}`),
  ];
}

function differencesIn(end: RunEnd): string {
  return end.kind === 'ended' ? JSON.stringify(end.plan.changes.flatMap(({ differences }) => differences)) : '';
}

/** What is wrong with the world, the store and the log as they are now. */
export async function complaints(
  scene: Scene,
  text: string | ResolvedStack,
  before: string,
  expectations: Expectations = {},
): Promise<string[]> {
  const { files = [] } = expectations;
  const retired = 'retired' in expectations ? expectations.retired : 0;
  const stack = typeof text === 'string' ? resolved(text) : text;
  const { world } = scene;
  const state = await scene.state(stack.name);
  return [
    ...wrongNames(world, stack, retired),
    ...stack.vms.flatMap(({ address, fields }) => {
      const vm = standing(world, state, address);
      if (typeof vm === 'string') return [vm];
      return [
        ...tidiness(vm).map((each) => `${address}: ${each}`),
        ...(fields.power === 'running' && !vm.process ? [`${address} does not run`] : []),
      ];
    }),
    ...stack.templates.flatMap(({ vm: { address, fields }, name }) => {
      const vm = standing(world, state, address);
      return typeof vm === 'string' ? [vm] : unfinished(vm, name, guestOf(fields)).map((each) => `${address}: ${each}`);
    }),
    ...wrongFiles(scene, stack, state, files),
    ...(await common(scene, before)),
    ...(await leaks(scene)),
  ];
}

/** Destroys everything the stack has created, and says what is left. */
export async function complaintsAfterDestroy(
  scene: Scene,
  text: string,
  before: string,
  files: readonly string[] = [],
): Promise<string[]> {
  const { world } = scene;
  const failures = failuresOf(await scene.destroy(text, { all: true })).map((each) => `destroy: ${each}`);
  const { vms, files: known } = await scene.state();
  const left = filesOf(world).filter((file) => !isOfOthers(file) && !files.includes(file));
  return [
    ...failures,
    ...ourVms(world).map(({ vmid }) => `VM ${vmid} is still there after destroy`),
    ...left.filter((file) => !isNamed(scene, file)).map((file) => `${file} is still there after destroy`),
    ...[...Object.keys(vms), ...Object.keys(known)].map((key) => `the state still knows ${key} after destroy`),
    ...(await common(scene, before)),
    ...(await leaks(scene)),
  ];
}

function wrongNames(world: World, stack: ResolvedStack, retired: number | undefined): string[] {
  const names = ourVms(world).map(({ config }) => config.current.get('name') ?? '?');
  const isRetired = (name: string) => /-retired-\d+$/.test(name);
  const actual = names.filter((name) => !isRetired(name)).sort();
  const expected = [...stack.vms.map(({ fields }) => fields.name), ...stack.templates.map(({ name }) => name)].sort();
  const retirees = names.filter(isRetired);
  return [
    ...(`${actual}` === `${expected}` ? [] : [`VMs are ${actual}, expected ${expected}`]),
    ...(retired === undefined || retirees.length === retired ? [] : [`retired are ${retirees}, expected ${retired}`]),
  ];
}

function standing(world: World, { vms }: StackState, address: string): Vm | string {
  const recorded = vms[address];
  const vm = recorded && world.vms.get(recorded.vmid);
  if (!recorded || !vm) return `${address} is not where the state says`;
  const uuid = propertyOf('smbios1', vm.config.current.get('smbios1')).get('uuid');
  if (uuid !== recorded.uuid) return `${address}: other uuid`;
  if (recorded.phase !== 'complete') return `${address} is ${recorded.phase}`;
  if (kindOf(address) === 'template' && !recorded.template?.finished) return `${address} is not finished`;
  return vm;
}

function tidiness({ config: { current, pending } }: Vm): string[] {
  return [
    ...(current.has('lock') ? [`locked (${current.get('lock')})`] : []),
    ...[...current.keys()].filter((key) => key.startsWith('unused')).map((key) => `${key} left behind`),
    ...[...pending.keys()].map((key) => `${key} is pending`),
    ...(current.get('description')?.includes('incomplete') ? ['its line says that it is incomplete'] : []),
  ];
}

function unfinished(vm: Vm, name: string, guest: TemplateGuest): string[] {
  const { current } = vm.config;
  return [
    ...tidiness(vm),
    ...(current.get('template') === '1' ? [] : ['no template']),
    ...(current.get('name') === name ? [] : [`called ${current.get('name')}`]),
    ...(vm.process ? ['it runs'] : []),
    ...templateFaults(current, guest).map(({ detail }) => detail),
    ...[...current.values()].filter((value) => value.includes('proxwright-')).map((value) => `still holds ${value}`),
  ];
}

/** Exactly the images of the stack, and of seeds those that a drive holds. */
function wrongFiles(scene: Scene, stack: ResolvedStack, state: StackState, others: readonly string[]): string[] {
  const { world } = scene;
  const shared = new Set([...world.storages.values()].filter((each) => each.shared).map(({ id }) => id));
  const images = stack.images.flatMap(({ fields, file, nodes }) => {
    const volid = imageVolid(fields.storage, fields.content, file);
    return shared.has(fields.storage) ? [`*/${volid}`] : nodes.map((node) => `${node}/${volid}`);
  });
  const seeds = ourVms(world).flatMap(({ node, config }) =>
    [...config.current.values()].flatMap((value) => {
      const [volid = ''] = value.split(',');
      return /:iso\/proxwright-/.test(volid) ? [`${node}/${volid}`] : [];
    }),
  );
  const expected = [...images, ...seeds, ...others].sort();
  const actual = filesOf(world).filter((file) => !isOfOthers(file));
  const recorded = Object.values(state.files).filter(({ incomplete }) => incomplete);
  return [
    ...actual
      .filter((file) => !expected.includes(file) && !isNamed(scene, file))
      .map((file) => `${file} is left behind`),
    ...expected.filter((file) => !actual.includes(file)).map((file) => `${file} is missing`),
    ...recorded.map(({ volid }) => `${volid} is recorded as incomplete`),
  ];
}

const isOfOthers = (file: string) => file.endsWith('/local:iso/others.iso');

/** What could not be removed is to be named, with the command that removes it. */
function isNamed(scene: Scene, file: string): boolean {
  const volume = file.slice(file.indexOf('/') + 1);
  return scene.logs.some((line) => line.startsWith('warn') && line.includes(`pvesm free ${volume}`));
}

async function common(scene: Scene, before: string): Promise<string[]> {
  const { world } = scene;
  return [
    ...orphans(world)
      .filter((volume) => !isNamed(scene, `/${volume}`))
      .map((volume) => `orphan volume ${volume}`),
    ...(strangersPicture(world) === before ? [] : ['something of others was touched']),
    // Transfers have no VM.
    ...overlapping(world).filter((each) => /^VM \d+ /.test(each)),
    ...scene.wireViolations,
    ...((await scene.isLockLeft()) ? ['the lock of the store is left'] : []),
  ];
}

const SECRETS = [GUEST_PASSWORD, TOKEN_SECRET, UNSPEAKABLE];

async function leaks(scene: Scene): Promise<string[]> {
  const documents = await Promise.all((await scene.store.list()).map((name) => scene.store.read(name)));
  const texts = [
    ...documents.map((text) => text ?? ''),
    ...scene.logs,
    ...scene.events.map((each) => JSON.stringify(each)),
  ];
  return texts
    .filter((text) => SECRETS.some((secret) => text.includes(secret)))
    .map((text) => `a secret is told: ${text.slice(0, 200)}`);
}
