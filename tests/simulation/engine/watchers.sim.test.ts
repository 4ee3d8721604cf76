/**
 * A test of what the other tests rely on: each thing that must never happen is caused by hand, and the check for it
 * must report it. A check that never reports would let everything pass.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { WireRequest } from '../../../src/base/transport.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import type { TaskRecord } from '../../../src/simulator/world/world.ts';
import { beforehand, failuresOf, worldComplaints } from './support/invariants.ts';
import { volumesOf } from './support/picture.ts';
import { GUEST_PASSWORD, resolved, Scene, type Snapshot, TOKEN_SECRET } from './support/scene.ts';
import { FIVE_VMS } from './support/stacks.ts';
import { type Exchange, wireViolationsIn } from './support/wire-violations.ts';

const STACK = resolved(FIVE_VMS);
let whole: Snapshot;

beforeAll(async () => {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(STACK))).toEqual([]);
  await scene.clock.advance(120_000);
  whole = await scene.snapshot();
});

function setKey({ world }: Scene, vmid: number, key: string, value: string | undefined): void {
  const vm = world.vms.get(vmid);
  if (!vm) throw new Error(`there is no VM ${vmid}`);
  const draft = draftOf(vm.config);
  if (value === undefined) draft.current.delete(key);
  else draft.current.set(key, value);
  saveConfig(vm, draft);
}

const keyOf = ({ world }: Scene, vmid: number, key: string) => world.vms.get(vmid)?.config.current.get(key) ?? '';

function diskOf({ world }: Scene, vmid: number) {
  const volume = volumesOf(world).find((each) => each.vmid === vmid && each.name.includes('disk-'));
  if (!volume) throw new Error(`VM ${vmid} has no disk`);
  return volume;
}

function task(
  scene: Scene,
  part: Pick<TaskRecord, 'type' | 'id' | 'startedAt' | 'endedAt'> & { log?: string[] },
): void {
  const [some] = scene.world.tasks.values();
  if (!some) throw new Error('there is no task to copy');
  const upid = `${some.upid}${scene.world.tasks.size}`;
  scene.world.tasks.set(upid, { ...some, log: [], ...part, upid });
}

const SABOTAGE: readonly (readonly [what: string, bring: (scene: Scene) => void | Promise<void>, said: RegExp])[] = [
  ['a VM that is missing', ({ world }) => void world.vms.delete(401), /vm\.web\[1\] is not where the state says/],
  [
    'a VM made twice',
    ({ world }) => {
      const vm = world.vms.get(401);
      if (vm) world.vms.set(409, { ...vm, vmid: 409 });
    },
    /^VMs are db,web-1,web-1,/,
  ],
  [
    'another uuid',
    (scene) => setKey(scene, 401, 'smbios1', 'uuid=99999999-0000-4000-8000-000000000000'),
    /vm\.web\[1\]: other uuid/,
  ],
  ['a lock that is left', (scene) => setKey(scene, 402, 'lock', 'clone'), /vm\.web\[2\]: locked \(clone\)/],
  [
    'a VM that is off',
    ({ world }) => {
      const vm = world.vms.get(401);
      if (vm) vm.process = undefined;
    },
    /vm\.web\[1\] does not run/,
  ],
  [
    'another MAC address',
    (scene) => setKey(scene, 401, 'net0', keyOf(scene, 401, 'net0').replace(/(..:){5}../, 'BC:24:11:00:00:01')),
    /vm\.web\[1\]: MAC of net0 changed/,
  ],
  [
    'a disk of another size',
    (scene) => {
      diskOf(scene, 401).sizeBytes += 1024;
    },
    /vm\.web\[1\]: scsi0 has \d+ bytes, expected/,
  ],
  ['a disk put aside', (scene) => setKey(scene, 401, 'unused0', 'local-lvm:vm-401-disk-9'), /unused0 left behind/],
  ['an orphan volume', (scene) => setKey(scene, 401, 'scsi0', undefined), /orphan volume local-lvm:vm-401-disk-/],
  ["another client's VM changed", (scene) => setKey(scene, 150, 'memory', '1024'), /something of others was touched/],
  [
    "another client's volume changed",
    (scene) => {
      diskOf(scene, 150).sizeBytes += 1024;
    },
    /something of others was touched/,
  ],
  [
    'two tasks on one VM at once',
    (scene) => {
      task(scene, { type: 'resize', id: '401', startedAt: 1_000, endedAt: 3_000 });
      task(scene, { type: 'qmconfig', id: '401', startedAt: 2_000, endedAt: 4_000 });
    },
    /VM 401 had resize and qmconfig at once/,
  ],
  [
    'a task while the VM is being cloned',
    (scene) => {
      const log = ['creating a clone of VM 9000 with ID 402'];
      task(scene, { type: 'qmclone', id: '9000', startedAt: 1_000, endedAt: undefined, log });
      task(scene, { type: 'qmconfig', id: '402', startedAt: 2_000, endedAt: 4_000 });
    },
    /VM 402 had .* and .* at once/,
  ],
  ['a password in the log', ({ logs }) => void logs.push(`debug cipassword=${GUEST_PASSWORD}`), /a secret is told/],
  ['a token in the state', ({ store }) => store.write('state.json.bak', TOKEN_SECRET), /a secret is told/],
  [
    'a lock of the store that is left',
    async ({ store }) => {
      await store.lock({ runId: 'r', who: 'w', host: 'h', pid: 1, since: 's', command: 'apply' });
    },
    /the lock of the store is left/,
  ],
  [
    'something sent without care',
    ({ wireViolations }) => void wireViolations.push('PUT without a digest'),
    /without a/,
  ],
];

describe('the watcher of the world', () => {
  const begin = () => {
    const scene = new Scene({ from: whole });
    return { scene, before: beforehand(scene) };
  };

  it('reports nothing if nothing is wrong', async () => {
    const { scene, before } = begin();
    expect(await worldComplaints(scene, STACK, before)).toEqual([]);
  });

  it.each(SABOTAGE)('sees %s', async (_what, bring, said) => {
    const { scene, before } = begin();
    await bring(scene);
    const complaints = await worldComplaints(scene, STACK, before);
    expect(
      complaints.filter((each) => said.test(each)),
      complaints.join('\n'),
    ).not.toEqual([]);
  });
});

describe('the watcher of requests', () => {
  const sent = (method: WireRequest['method'], path: string, body = '', answer = ''): Exchange => ({
    request: { method, target: `/api2/json/nodes/pve1/qemu/401/${path}`, headers: {}, body },
    answer: { status: 200, reason: 'OK', headers: {}, body: answer },
  });
  const write = sent('PUT', 'config', 'memory=1&digest=abc');
  const good = sent('GET', 'pending', '', 'good');
  const bad = sent('GET', 'pending', '', 'bad');
  const start = sent('POST', 'status/start');
  const shutdown = sent('POST', 'status/shutdown');
  const said = (...exchanges: Exchange[]) =>
    wireViolationsIn(exchanges, (vmid, answer) => (answer === 'bad' ? [`${vmid} is bad`] : [])).join('; ');

  it.each([
    ['a write without a digest', [sent('PUT', 'config', 'memory=1')], /config without a digest$/],
    ['a resize without a digest', [sent('PUT', 'resize', 'size=1G')], /resize without a digest$/],
    ['a start without any read', [start], /without reading it back$/],
    ['a start with a write since the read', [good, write, start], /without reading it back$/],
    ['a start after a read without an answer', [{ ...good, answer: undefined }, start], /without reading it back$/],
    ['a start of what was seen to be wrong', [write, bad, start], /though it was not as desired: 401 is bad$/],
    ['a start of what was wrong at the last look', [good, bad, start], /though it was not as desired/],
    ['a restart of what was seen to be wrong', [write, bad, shutdown, start], /though it was not as desired/],
  ])('sees %s', (_what, exchanges, pattern) => {
    expect(said(...exchanges)).toMatch(pattern);
  });

  it('accepts a VM that was read back after the last write and matched', () => {
    expect(said(write, bad, write, good, start)).toBe('');
    // What others do once it is being switched is theirs.
    expect(said(good, start, bad, start)).toBe('');
    expect(said(good, shutdown, bad, start)).toBe('');
  });
});
