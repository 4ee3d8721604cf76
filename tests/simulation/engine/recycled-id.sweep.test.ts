/**
 * While a run works on a VM, another client removes that VM and creates another one under its id, between any two requests of the
 * run. From then on nothing that the run sends may reach the stranger. One window cannot be closed: Proxmox takes no digest
 * with a stop, a start or a DELETE, so the VM may change hands between the read of its identity and the very next request.
 */
import { describe, expect, it } from 'vitest';
import type { Transport } from '../../../src/base/transport.ts';
import { lineOf } from '../../../src/rehearse/trial/mortal-process.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import type { Vm, World } from '../../../src/simulator/world/world.ts';
import { byDepth, pointsOf } from '../../support/depth.ts';
import { failuresOf } from './support/invariants.ts';
import { Scene, type Snapshot } from './support/scene.ts';

const VMID = 401;
const STRANGER_UUID = '5a5a5a5a-0000-4000-8000-5a5a5a5a5a5a';

const stackOf = (vm: string) => `
version: 1
stack: lab
vms:
  web:
    name: web
    vmid: ${VMID}
    node: pve1
    clone: { template: ubuntu-24.04, mode: full }
    restart: when_needed
    ${vm}
`;
const RUNNING = stackOf('memory: 2GiB');

type Operation = (scene: Scene) => ReturnType<Scene['apply']>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'a destroy': (scene) => scene.destroy(RUNNING),
  'a stop': (scene) => scene.apply(stackOf('memory: 2GiB\n    power: stopped')),
  'a restart': (scene) => scene.apply(stackOf('memory: 3GiB')),
  'a change': (scene) =>
    scene.apply(stackOf('memory: 2GiB\n    tags: [blue]\n    disks: { scsi0: { size: 12GiB } }\n    on_boot: true')),
  'a replacement': (scene) => scene.apply(RUNNING, { replace: ['vm.web'] }),
  'a move': (scene) => scene.apply(RUNNING.replace('node: pve1', 'node: pve2')),
  'a change of HA': (scene) => scene.apply(stackOf('memory: 2GiB\n    ha: { state: started }')),
};

/** Requests that carry no digest: they may follow a read of the identity, and nothing else. */
const WITHOUT_DIGEST = new RegExp(
  `^(DELETE /nodes/\\w+/qemu/${VMID}|POST /nodes/\\w+/qemu/${VMID}/(status/\\w+|migrate|template)|\\w+ /cluster/ha/resources.*)$`,
);
const isUnguarded = (line: string) => WITHOUT_DIGEST.test(line) && !line.startsWith('GET');
const READS_IDENTITY = new RegExp(`^GET /nodes/\\w+/qemu/${VMID}/pending$`);

/** A VM of another client, as similar to ours as possible. */
function recycle(world: World): Vm | undefined {
  const ours = world.vms.get(VMID);
  if (!ours || ours.config.current.has('lock')) return undefined;
  const stranger = structuredClone(ours);
  const draft = draftOf(stranger.config);
  draft.current.set('name', 'stranger');
  draft.current.set('smbios1', `uuid=${STRANGER_UUID}`);
  draft.current.delete('description');
  draft.pending.clear();
  draft.pendingDeletes.clear();
  saveConfig(stranger, draft);
  world.vms.set(VMID, stranger);
  return stranger;
}

interface Recycling {
  readonly line: string;
  readonly stranger: Vm | undefined;
  /** Of the stranger's VM: its digest when it appeared. */
  readonly digest: string | undefined;
  /** Requests that Proxmox took for the stranger, after the one at which the id changed hands. */
  readonly reached: readonly string[];
  readonly end: Awaited<ReturnType<Scene['apply']>>;
  readonly world: World;
}

/** The id changes hands right before the n-th request of the operation is delivered. */
async function recycleAt(from: Snapshot, point: number, operation: Operation): Promise<Recycling> {
  let sent = 0;
  let line = '';
  let stranger: Vm | undefined;
  let digest: string | undefined;
  const reached: string[] = [];
  const disguise = (transport: Transport): Transport => ({
    ...transport,
    send: async (request, options) => {
      const isAfter = ++sent > point;
      if (sent === point) {
        line = lineOf(request);
        stranger = recycle(scene.world);
        digest = stranger?.config.digest;
      }
      const isTheirs = isAfter && stranger !== undefined && scene.world.vms.get(VMID) === stranger;
      const answer = await transport.send(request, options);
      if (isTheirs && isUnguarded(lineOf(request)) && answer.status < 300) reached.push(lineOf(request));
      return answer;
    },
  });
  const scene = new Scene({ from, disguise });
  const end = await operation(scene);
  return { line, stranger, digest, reached, end, world: scene.world };
}

async function runningVm(): Promise<Snapshot> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(RUNNING))).toEqual([]);
  await scene.clock.advance(120_000);
  return scene.snapshot();
}

async function linesOf(from: Snapshot, operation: Operation): Promise<string[]> {
  const scene = new Scene({ from });
  expect(failuresOf(await operation(scene))).toEqual([]);
  return scene.requests.map(lineOf);
}

describe.each(Object.entries(OPERATIONS))('%s of a VM whose id changes hands', (_name, operation) => {
  it('reads the identity as the last request before each one that carries no digest', async () => {
    const lines = await linesOf(await runningVm(), operation);
    expect(lines.filter((line, index) => isUnguarded(line) && !READS_IDENTITY.test(lines[index - 1] ?? ''))).toEqual(
      [],
    );
  });

  it('never reaches the stranger, except in the window of one request', async () => {
    const from = await runningVm();
    const points = pointsOf((await linesOf(from, operation)).length, byDepth(4, 1));
    let seen = 0;
    for (const point of points) {
      const { line, stranger, digest, reached, end, world } = await recycleAt(from, point, operation);
      if (!stranger) continue;
      seen++;
      const where = `at request ${point}, ${line}`;
      expect(reached, where).toEqual([]);
      if (isUnguarded(line)) continue;
      expect(world.vms.get(VMID), where).toBe(stranger);
      expect(stranger.config.digest, where).toBe(digest);
      expect(failuresOf(end).join(), where).not.toMatch(/INVARIANT/);
    }
    expect(seen).toBeGreaterThan(0);
  });
});
