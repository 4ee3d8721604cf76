/**
 * What the page of `sim --ui` shows and does. It reads the world of the simulator directly, without requests: fault
 * rules neither count nor affect what the page reads.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { usedMemoryBytes } from '../../simulator/core/statistics.ts';
import {
  ALL_FAULT_KINDS,
  FAULT_DESCRIPTIONS,
  type FaultBoard,
  type FaultRule,
  parseShortForm,
  printShortForm,
  type Simulator,
  whyNever,
} from '../../simulator/index.ts';
import { storageSpace } from '../../simulator/storage/space.ts';
import { isTemplate } from '../../simulator/vm/config/config-file.ts';
import { vmName, vmStatus } from '../../simulator/vm/power/status.ts';
import type { SimNode, TaskRecord, Vm } from '../../simulator/world/world.ts';
import type {
  Done,
  SimulatedGuest,
  SimulatedLock,
  SimulatedNode,
  SimulatedSource,
  SimulatedTask,
} from '../../ui/server/simulated.ts';

const NEWEST_TASKS = 200;
const NEWEST_STRIKES = 50;
const MOST_RULES = 100;

export interface SimulatedDeps {
  readonly simulator: Simulator;
  readonly faults: FaultBoard;
  readonly endpoint: string;
  readonly speed: number;
}

export function simulatedSource({ simulator, faults, endpoint, speed }: SimulatedDeps): SimulatedSource {
  const { world, runtime } = simulator;
  const neverStrikes = (rule: FaultRule, strikes: number) => {
    const hint = strikes > 0 ? undefined : whyNever(rule, world);
    return hint === undefined ? {} : { hint };
  };
  return {
    view: () => ({
      endpoint,
      speed,
      version: world.version.version,
      nodes: [...world.nodes.values()].map((node) => shownNode(node, simulator)),
      tasks: [...world.tasks.values()].slice(-NEWEST_TASKS).reverse().map(shownTask),
      locks: runtime.locks.held().map((lock): SimulatedLock => ({ ...lock, words: lockWords(lock.name) })),
      faults: faults.switches.map(({ rule, isOn, strikes }, id) => ({
        id,
        kind: rule.kind,
        rule: printShortForm(rule),
        words: FAULT_DESCRIPTIONS[rule.kind].words,
        isOn,
        strikes,
        ...neverStrikes(rule, strikes),
      })),
      strikes: faults.strikes
        .slice(-NEWEST_STRIKES)
        .reverse()
        .map(({ at, kind, what }) => ({ at: isoOf(at), kind, what })),
    }),
    kinds: () => ALL_FAULT_KINDS.map((kind) => ({ kind, ...FAULT_DESCRIPTIONS[kind] })),
    log: (upid) => world.tasks.get(upid)?.log.slice(),
    addFault: (text) => {
      try {
        const rules = parseShortForm(text);
        if (rules.length === 0) return no('There is no rule in this text.', 'For example: cut-after:POST clone@1');
        if (faults.switches.length + rules.length > MOST_RULES) return no(`There are ${MOST_RULES} rules already.`);
        for (const rule of rules) faults.add(rule);
        return { ok: true };
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        const { detail, hint } = error.diagnostic;
        return no(detail, hint?.text);
      }
    },
    turnFault: (id, isOn) => {
      const found = faults.switches[id];
      if (!found) return no('There is no such rule.');
      found.turn(isOn);
      return { ok: true };
    },
    turnNode: (name, isOnline) => {
      const node = world.nodes.get(name);
      if (!node) return no('There is no such node.');
      if (name === world.entryNode) return no('This node answers the clients. Without it there is no cluster to ask.');
      node.online = isOnline;
      return { ok: true };
    },
  };
}

const no = (detail: string, hint?: string): Done => ({ ok: false, detail, ...(hint !== undefined && { hint }) });

const isoOf = (at: number) => new Date(at).toISOString();

function shownNode(node: SimNode, { world, runtime }: Simulator): SimulatedNode {
  const onNode = <Guest extends { readonly vmid: number; readonly node: string }>(guests: Iterable<Guest>) =>
    [...guests].filter((guest) => guest.node === node.name);
  return {
    node: node.name,
    isOnline: node.online,
    isEntry: node.name === world.entryNode,
    cpus: node.cpus,
    memory: { usedBytes: usedMemoryBytes(runtime, node), totalBytes: node.memoryBytes },
    storages: [...world.storages.values()].flatMap((storage) => {
      const space = storageSpace(world, storage, node.name);
      if (!space) return [];
      const { usedBytes, totalBytes } = space;
      return [{ storage: storage.id, usedBytes, totalBytes, isShared: storage.shared }];
    }),
    guests: [
      ...onNode(world.vms.values()).map((vm) => shownVm(vm, runtime)),
      ...onNode(world.containers.values()).map(({ vmid, name, running, memoryBytes }): SimulatedGuest => {
        const status = running ? 'running' : 'stopped';
        return { kind: 'container', vmid, name, status, memoryBytes, isTemplate: false };
      }),
    ].toSorted((a, b) => a.vmid - b.vmid),
  };
}

function shownVm(vm: Vm, runtime: Simulator['runtime']): SimulatedGuest {
  const { current } = vm.config;
  const { status, maxmem } = vmStatus(runtime, vm);
  const lock = current.get('lock');
  return {
    kind: 'vm',
    vmid: vm.vmid,
    name: vmName(vm),
    status: String(status),
    memoryBytes: Number(maxmem),
    isTemplate: isTemplate(current),
    ...(lock !== undefined && { lock }),
  };
}

function shownTask({ upid, node, type, id, user, startedAt, endedAt, exitStatus, log }: TaskRecord): SimulatedTask {
  const outcome =
    exitStatus === undefined
      ? 'running'
      : exitStatus === 'OK'
        ? 'done'
        : exitStatus.startsWith('WARNINGS')
          ? 'warned'
          : 'failed';
  return {
    upid,
    node,
    type,
    id,
    user,
    startedAt: isoOf(startedAt),
    ...(endedAt !== undefined && { tookMs: endedAt - startedAt }),
    status: exitStatus ?? 'running',
    outcome,
    lines: log.length,
    lastLine: log.at(-1) ?? '',
  };
}

/** What a lock protects, from its name in the lock table. */
function lockWords(name: string): string {
  for (const [pattern, words] of LOCKS) {
    const [whole, first = '', second = ''] = pattern.exec(name) ?? [];
    if (whole !== undefined) return words(first, second);
  }
  return name;
}

const LOCKS: readonly (readonly [RegExp, (first: string, second: string) => string])[] = [
  [/^flock:(.+):(\d+)$/, (node, vmid) => `configuration file of VM ${vmid} on ${node}`],
  [/^(.+):\/var\/lock\/pve-manager\/pve-storage-(.+)$/, (node, storage) => `storage ${storage} on ${node}`],
  [/^(.+):\/var\/lock\/pve-manager\/pve-migrate-(.+)$/, (node, vmid) => `migration of VM ${vmid} from ${node}`],
  [/^cfs:storage-(.+)$/, (storage) => `storage ${storage} in the whole cluster`],
  [/^cfs:file-user_cfg$/, () => 'users, tokens and permissions of the cluster'],
];
