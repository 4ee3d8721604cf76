/** What a world has besides its nodes, VMs and storages: containers, high availability, and tasks of other clients. */
import { parseUpid } from '../../pve/wire/index.ts';
import { parseNodes } from '../ha/rules.ts';
import { type HaState, newHaState } from '../ha/state.ts';
import type { Container, TaskRecord } from './world.ts';
import type { CompleteWorldFile } from './world-file.ts';

export function buildContainers(
  file: CompleteWorldFile,
  entryNode: string,
  fail: (detail: string) => never,
): Map<number, Container> {
  return new Map(
    Object.entries(file.containers).map(([id, { node = entryNode, name = `CT${id}`, running, memory, cores }]) => {
      if (!(node in file.nodes)) fail(`containers.${id}.node: there is no node "${node}".`);
      if (id in file.vms) fail(`containers.${id}: there is a VM with this id.`);
      return [Number(id), { vmid: Number(id), node, name, running, memoryBytes: memory, cores }];
    }),
  );
}

export function buildHa({ ha, vms }: CompleteWorldFile): HaState {
  const state = newHaState();
  for (const [sid, options] of Object.entries(ha.resources)) {
    state.resources.set(sid, new Map(Object.entries(options)));
    // The manager has seen it before the simulation begins.
    const vm = vms[sid.replace(/^vm:/, '')];
    if (vm?.node !== undefined && options.state !== 'ignored') {
      state.services.set(sid, {
        sid,
        vmid: Number(sid.replace(/^vm:/, '')),
        node: vm.node,
        state: vm.running ? 'started' : 'stopped',
        order: 0,
        result: undefined,
        stopSeconds: undefined,
        isRunning: vm.running,
        failures: 0,
        tries: 0,
        working: undefined,
        stopRequested: undefined,
      });
    }
  }
  for (const [id, rule] of Object.entries(ha.rules)) {
    const common = { id, resources: new Set(rule.resources), comment: rule.comment, isDisabled: rule.disabled };
    state.rules.set(
      id,
      rule.type === 'node-affinity'
        ? { ...common, type: rule.type, nodes: parseNodes(rule.nodes.join(',')), strict: rule.strict }
        : { ...common, type: rule.type, affinity: rule.affinity },
    );
  }
  for (const [name, options] of Object.entries(ha.groups)) state.groups.set(name, new Map(Object.entries(options)));
  return state;
}

/** They have no worker: they run as long as the simulation does. */
export function buildTasks({ tasks }: CompleteWorldFile, fail: (detail: string) => never): Map<string, TaskRecord> {
  return new Map(
    tasks.map((upid, index) => {
      const parts = parseUpid(upid) ?? fail(`tasks.${index}: "${upid}" is not a UPID.`);
      const { node, pid, processStartTicks: pstart, startTimeSeconds, type, id, user } = parts;
      const ended = { endedAt: undefined, exitStatus: undefined, archivedAt: undefined };
      return [upid, { upid, node, pid, pstart, type, id, user, startedAt: startTimeSeconds * 1000, log: [], ...ended }];
    }),
  );
}
