/**
 * What must hold after every scenario, asked of the world itself: it converges, the plan after that is empty and a further
 * apply writes nothing; nothing of ours is missing or doubled, nothing of others was touched, nothing is left behind; no
 * VM ever had two tasks of ours at once; no secret leaked; and a destroy leaves nothing.
 */

import { formatDiagnostic } from '../../../../src/base/diagnostics.ts';
import type { ResolvedStack } from '../../../../src/kinds/stack.ts';
import { propertyOf } from '../../../../src/kinds/vm/config/parts.ts';
import type { VmFields } from '../../../../src/kinds/vm/fields/index.ts';
import { OTHER_USER } from '../../../../src/simulator/faults/strangers.ts';
import type { Vm, World } from '../../../../src/simulator/world/world.ts';
import { readRuns } from '../../../../src/state/journal.ts';
import { STRANGERS } from './lab-world.ts';
import { orphans, ourVms, strangersPicture, volumesOf } from './picture.ts';
import { GUEST_PASSWORD, type RunEnd, resolved, type Scene, TOKEN_SECRET } from './scene.ts';

const SECRETS = [GUEST_PASSWORD, TOKEN_SECRET];

export interface Expectations {
  readonly strangers?: ReadonlySet<number>;
  /** As they were before anything happened. */
  readonly before: unknown;
}

export function beforehand(scene: Scene, strangers: ReadonlySet<number> = new Set(STRANGERS)): Required<Expectations> {
  return { strangers, before: JSON.stringify(strangersPicture(scene.world, strangers)) };
}

/** Why a run did not end well, in words; nothing where it did. */
export function failuresOf(end: RunEnd): string[] {
  if (end.kind === 'killed') return [`killed at ${end.at}`];
  if (end.kind === 'failed') return [formatDiagnostic(end.problem)];
  if (end.kind === 'refused') return end.problems.map(formatDiagnostic);
  return [...(end.result?.outcomes ?? [])].flatMap(([address, outcome]) => {
    const problem = end.result?.problems.get(address);
    return outcome === 'done' ? [] : [`${address}: ${outcome}${problem ? ` ${formatDiagnostic(problem)}` : ''}`];
  });
}

/** Codes of all that went wrong in a run. */
export function codesOf(end: RunEnd): string[] {
  switch (end.kind) {
    case 'killed':
      return [];
    case 'failed':
      return [end.problem.code];
    case 'refused':
      return end.problems.map(({ code }) => code);
    case 'ended':
      return [...(end.result?.problems.values() ?? [])].map(({ code }) => code);
  }
}

/** Applies until nothing is left to do, and says what is wrong then. */
export async function complaintsAfter(
  scene: Scene,
  text: string | ResolvedStack,
  expectations: Required<Expectations>,
): Promise<string[]> {
  const stack = typeof text === 'string' ? resolved(text) : text;
  const found: string[] = [];
  const said = (prefix: string, messages: readonly string[]) =>
    found.push(...messages.map((each) => `${prefix}: ${each}`));
  said('apply', failuresOf(await scene.apply(stack)));
  const second = await scene.apply(stack);
  said('second apply', failuresOf(second));
  if (second.kind === 'ended') {
    for (const { id } of second.plan.steps)
      found.push(`the plan after that is not empty: ${id} ${differencesIn(second)}`);
  }
  said('a second apply writes', scene.writes());
  found.push(...(await worldComplaints(scene, stack, expectations)));
  return found;
}

function differencesIn(end: RunEnd): string {
  if (end.kind !== 'ended') return '';
  return JSON.stringify(end.plan.changes.flatMap(({ differences }) => differences));
}

/** What is wrong with the world, the store and the log as they are now. */
export async function worldComplaints(
  scene: Scene,
  stack: ResolvedStack,
  { strangers, before }: Required<Expectations>,
): Promise<string[]> {
  const { world } = scene;
  const found: string[] = [];
  const ours = ourVms(world, strangers);
  const { vms } = await scene.state(stack.name);
  const changedMacs = macsThatChanged(await scene.look(() => readRuns(scene.store)));
  const expected = stack.vms.map(({ fields }) => fields.name).sort();
  const names = ours.map(({ config }) => config.current.get('name') ?? '?').sort();
  if (JSON.stringify(names) !== JSON.stringify(expected)) found.push(`VMs are ${names}, expected ${expected}`);
  for (const { address, fields } of stack.vms) {
    const recorded = vms[address];
    const vm = recorded && world.vms.get(recorded.vmid);
    if (!recorded || !vm) {
      found.push(`${address} is not where the state says`);
      continue;
    }
    const { current } = vm.config;
    if (propertyOf('smbios1', current.get('smbios1')).get('uuid') !== recorded.uuid)
      found.push(`${address}: other uuid`);
    if (current.has('lock')) found.push(`${address}: locked (${current.get('lock')})`);
    if (fields.power === 'running' && !vm.process) found.push(`${address} does not run`);
    if (current.has('net0') && recorded.macs.net0 === undefined) found.push(`${address}: its MAC is not recorded`);
    for (const slot of changedMacs.get(address) ?? []) {
      if (fields.nics?.[slot]?.mac === undefined) found.push(`${address}: MAC of ${slot} changed`);
    }
    for (const [slot, mac] of Object.entries(recorded.macs)) {
      if (propertyOf(slot, current.get(slot)).get('macaddr') !== mac) found.push(`${address}: MAC of ${slot} changed`);
    }
    found.push(...wrongSizes(world, vm, fields).map((each) => `${address}: ${each}`));
    for (const key of current.keys()) if (key.startsWith('unused')) found.push(`${address}: ${key} left behind`);
    const addresses = Object.values(recorded.addresses).flat();
    if (fields.guest === 'cloud-init' && fields.power === 'running' && addresses.length === 0) {
      found.push(`${address}: its address is not known`);
    }
  }
  found.push(...orphans(world).map((volume) => `orphan volume ${volume}`));
  if (JSON.stringify(strangersPicture(world, strangers)) !== before) found.push('something of others was touched');
  found.push(...overlapping(world), ...scene.wireViolations);
  if (await scene.isLockLeft()) found.push('the lock of the store is left');
  found.push(...(await leaks(scene)));
  return found;
}

/** A disk that was to grow has the size of the file, no more. */
function wrongSizes(world: World, vm: Vm, { disks = {} }: VmFields): string[] {
  return Object.entries(disks).flatMap(([slot, { size }]) => {
    const file = vm.config.current.get(slot)?.split(',')[0];
    const volume = volumesOf(world).find(({ storage, name }) => `${storage}:${name}` === file);
    const isWrong = size !== undefined && volume !== undefined && volume.sizeBytes !== size;
    return isWrong ? [`${slot} has ${volume.sizeBytes} bytes, expected ${size}`] : [];
  });
}

/** Destroys everything, and says what is left. */
export async function complaintsAfterDestroy(
  scene: Scene,
  text: string | ResolvedStack,
  { strangers, before }: Required<Expectations>,
): Promise<string[]> {
  const { world } = scene;
  const found = failuresOf(await scene.destroy(text)).map((each) => `destroy: ${each}`);
  found.push(...ourVms(world, strangers).map(({ vmid }) => `VM ${vmid} is still there after destroy`));
  // What Proxmox itself orphans is to be named, with the command that removes it.
  const isNamed = (volume: string) =>
    scene.logs.some((line) => line.startsWith('warn') && line.includes(`pvesm free ${volume}`));
  found.push(
    ...orphans(world)
      .filter((volume) => !isNamed(volume))
      .map((volume) => `orphan volume ${volume} after destroy`),
  );
  const left = Object.keys((await scene.state()).vms);
  if (left.length > 0) found.push(`the state still knows ${left} after destroy`);
  if (JSON.stringify(strangersPicture(world, strangers)) !== before) found.push('something of others was touched');
  if (await scene.isLockLeft()) found.push('the lock of the store is left');
  return [...found, ...overlapping(world), ...(await leaks(scene))];
}

/** Tasks of ours that worked on one VM at the same time. A clone is filed under its source; its log names the new VM. */
export function overlapping(world: World): string[] {
  const byVm = new Map<string, { type: string; from: number; to: number }[]>();
  for (const task of world.tasks.values()) {
    const newid = task.log.map((line) => /^creating a clone of VM \d+ with ID (\d+)$/.exec(line)?.[1]).find(Boolean);
    const id = task.type === 'qmclone' ? newid : task.id;
    if (id === undefined || task.user === OTHER_USER) continue;
    const span = { type: task.type, from: task.startedAt, to: task.endedAt ?? Number.POSITIVE_INFINITY };
    byVm.set(id, [...(byVm.get(id) ?? []), span]);
  }
  return [...byVm].flatMap(([id, spans]) =>
    spans.flatMap((one, index) =>
      spans
        .slice(index + 1)
        .filter((other) => one.from < other.to && other.from < one.to)
        .map((other) => `VM ${id} had ${one.type} and ${other.type} at once`),
    ),
  );
}

async function leaks(scene: Scene): Promise<string[]> {
  const documents = await scene.look(async () =>
    Promise.all((await scene.store.list()).map((name) => scene.store.read(name))),
  );
  const texts = [...documents.map((text) => text ?? ''), ...scene.logs];
  return texts
    .filter((text) => SECRETS.some((secret) => text.includes(secret)))
    .map((text) => `a secret is told: ${text.slice(0, 200)}`);
}

/** Slots that a VM has had more than one MAC address in since it was made, by what the runs have learned. */
function macsThatChanged(runs: Awaited<ReturnType<typeof readRuns>>): Map<string, Set<string>> {
  const first = new Map<string, Record<string, string>>();
  const replaced = new Map<string, Record<string, string>>();
  const changed = new Map<string, Set<string>>();
  for (const event of runs.flatMap(({ events }) => events)) {
    if (event.event === 'moved') {
      // The new VM beside an old one is another one.
      const moved = first.get(event.from);
      first.delete(event.from);
      if (moved) first.set(event.to, moved);
    }
    if (!('patch' in event) || !event.patch || !('address' in event.patch)) continue;
    const { address, vm } = event.patch;
    if (vm === null) {
      replaced.set(address, { ...replaced.get(address), ...first.get(address) });
      first.delete(address);
    }
    if (!vm?.macs) continue;
    const known = first.get(address) ?? {};
    for (const [slot, mac] of Object.entries(vm.macs)) {
      // A VM that is made in place of another one gets its address.
      const isTakenOver = replaced.get(address)?.[slot] === mac;
      if ((known[slot] ?? mac) !== mac && !isTakenOver)
        changed.set(address, (changed.get(address) ?? new Set()).add(slot));
    }
    first.set(address, { ...vm.macs, ...known, ...replaced.get(address) });
  }
  return changed;
}
