/**
 * A group whose members are replaced by VMs that are made beside them (`update.order: create_first`): no member is ever
 * unavailable, no two running VMs share a MAC or an IP address, and wherever a run is killed the next one finishes it.
 */
import { describe, expect, it } from 'vitest';
import { propertyOf } from '../../../src/kinds/vm/config/parts.ts';
import { guestState } from '../../../src/simulator/guests/guest.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
import { byDepth, pointsOf } from '../../support/depth.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { type RunEnd, Scene, type SceneOptions, type Snapshot } from './support/scene.ts';
import { administer, CALM_MS } from './support/storm.ts';
import { faultsOf, troublesOf } from './support/troubles.ts';

const stackWith = (more = '', addresses = '10.0.0.11-10.0.0.18/24', ids = 'vmids: 401-409') => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: linked } }
vms:
  web:
    count: 2
    name: "web-\${number}"
    ${ids}
    guest: cloud-init
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: ${addresses}, gateway: 10.0.0.1 } } }
    update: { order: create_first }
    ${more}
rollout: { readiness: parallel, limits: { clones_per_node: 5, clones_per_storage: 5 } }
`;
const STACK = stackWith();
const hooked = (more = '') =>
  stackWith(
    `hooks: { before_stop: { run: [leave, "\${vmid}", "\${address}"]${more} }, after_ready: { run: [join, "\${vmid}", "\${address}"]${more} } }`,
  );
const HOOKED = hooked();
const BOTH = { replace: ['vm.web'] };
const NAMES = ['web-1', 'web-2'];

const cached = new Map<string, Promise<Snapshot>>();

function standing(text: string): Promise<Snapshot> {
  const known =
    cached.get(text) ??
    (async () => {
      const scene = new Scene();
      expect(failuresOf(await scene.apply(text))).toEqual([]);
      await scene.clock.advance(120_000);
      return scene.snapshot();
    })();
  cached.set(text, known);
  return known;
}

/** What must never be, at any instant: a member without a VM that answers, or one address on two VMs that run. */
function watched(scene: Scene): () => string[] {
  const seen = new Set<string>();
  const look = () => {
    const all = [...scene.world.vms.values()].filter(({ config }) => NAMES.includes(config.current.get('name') ?? ''));
    for (const name of NAMES) {
      const own = all.filter(({ config }) => config.current.get('name') === name);
      if (!own.some(({ process }) => guestState(process, scene.clock.now()).agentAnswers))
        seen.add(`${name} was unavailable`);
      if (own.length > 2) seen.add(`${own.length} VMs were called ${name}`);
    }
    const running = all.filter(({ process }) => process).map(({ config }) => config.current);
    for (const of of [
      (values: ReadonlyMap<string, string>) => propertyOf('net0', values.get('net0')).get('macaddr'),
      (values: ReadonlyMap<string, string>) => propertyOf('ipconfig0', values.get('ipconfig0')).get('ip'),
    ]) {
      const values = running.map(of);
      if (new Set(values).size !== values.length) seen.add(`two running VMs share one of ${values}`);
    }
  };
  scene.onRequest = look;
  scene.onEvent = look;
  return () => [...seen];
}

async function begin(text: string, options: SceneOptions = {}) {
  const scene = new Scene({ from: await standing(text), ...options });
  return { scene, before: beforehand(scene, new Set(STRANGERS)), wrong: watched(scene) };
}

describe('a group that makes the new VM first', () => {
  it('replaces its members in turns, with spare IDs and addresses, and says so', async () => {
    const { scene, before, wrong } = await begin(STACK);
    const end = await scene.apply(STACK, BOTH);
    expect(failuresOf(end)).toEqual([]);
    expect(wrong()).toEqual([]);
    const { vms } = await scene.state();
    expect(Object.entries(vms).map(([address, { vmid, addresses }]) => [address, vmid, addresses.net0])).toEqual([
      ['vm.web[1]', 404, ['10.0.0.18']],
      ['vm.web[2]', 405, ['10.0.0.17']],
    ]);
    const [first] = end.kind === 'ended' ? end.plan.changes : [];
    expect(first?.notes).toEqual([
      'the new VM is created first, with the ID 404 and 10.0.0.18/24',
      'the old VM 401 is destroyed once the new one is ready; until then two VMs are called web-1',
    ]);
    expect(first?.destroys?.map(({ slot }) => slot)).toContain('scsi0');
    expect(end.kind === 'ended' && end.plan.rolls).toMatchObject([
      { group: 'vm.web', order: 'create_first', atMost: 1 },
    ]);
    expect(scene.tasks('qmdestroy')).toEqual(['OK', 'OK']);
    expect(await complaintsAfter(scene, STACK, before)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, STACK, before)).toEqual([]);
  });

  it('keeps the address it got when a member is replaced in place, and gives a new member a free one', async () => {
    const { scene } = await begin(STACK);
    expect(failuresOf(await scene.apply(STACK, BOTH))).toEqual([]);
    await scene.clock.advance(120_000);
    const inPlace = STACK.replace('create_first', 'destroy_first').replace('count: 2', 'count: 8');
    expect(failuresOf(await scene.apply(inPlace, { replace: ['vm.web[1]'] }))).toEqual([]);
    const { vms } = await scene.state();
    expect([vms['vm.web[1]']?.addresses.net0, vms['vm.web[1]']?.vmid]).toEqual([['10.0.0.18'], 404]);
    const all = Object.values(vms).map(({ addresses }) => addresses.net0?.[0]);
    expect(new Set(all).size).toBe(8);
    const second = await scene.plan(inPlace);
    expect(second.kind === 'ended' && second.plan.steps).toEqual([]);
  });

  it('puts the new VM into service before the old one leaves it', async () => {
    const { scene, wrong } = await begin(HOOKED);
    expect(failuresOf(await scene.apply(HOOKED, BOTH))).toEqual([]);
    expect(scene.programs.map(({ command }) => command)).toEqual([
      'join 404 10.0.0.18',
      'leave 401 10.0.0.11',
      'join 405 10.0.0.17',
      'leave 402 10.0.0.12',
    ]);
    expect(wrong()).toEqual([]);
  });

  it.each([
    [
      'a fixed ID',
      STACK.replace('vmids: 401-409', '').replace('count: 2', 'vmid: 401').replace(`-\${number}`, ''),
      '"vmid" is fixed',
    ],
    ['no spare ID', stackWith('', undefined, 'vmids: 401-402'), 'No ID of "vmids" is left'],
    ['no spare address', stackWith('', '10.0.0.11-10.0.0.12/24'), 'no address of "addresses" is left'],
    [
      'a kept disk',
      stackWith('disks: { scsi1: { storage: local-lvm, size: 1GiB, keep: true } }'),
      'scsi1 is kept, and both VMs',
    ],
  ])('refuses at plan time with %s', async (_, text, words) => {
    const { scene } = await begin(text);
    const end = await scene.apply(text, BOTH);
    expect(failuresOf(end).join('\n')).toContain(words);
    expect(end.kind).toBe('refused');
    expect(scene.writes()).toEqual([]);
  });

  it.each([
    ['without hooks', STACK],
    ['with hooks', hooked(', repeatable: true')],
  ])('finishes a replacement that was killed anywhere, %s', async (_, text) => {
    const whole = await begin(text);
    expect(failuresOf(await whole.scene.apply(text, BOTH))).toEqual([]);
    const failures: string[] = [];
    const points = [...whole.scene.points];
    const kills = pointsOf(points.length, 29);
    for (const killAt of kills) {
      const { scene, before, wrong } = await begin(text);
      scene.killAt = killAt;
      await scene.apply(text, BOTH);
      const found = [...(await complaintsAfter(scene, text, before)), ...wrong()];
      if (killAt % 3 === 0) found.push(...(await complaintsAfterDestroy(scene, text, before)));
      failures.push(...found.map((each) => `killed at ${killAt} (${points[killAt - 1]}): ${each}`));
    }
    process.stdout.write(`replacement with the new VM first: killed at ${kills.length} of ${points.length} points\n`);
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('survives storms', async () => {
    const failures: string[] = [];
    // In the first two, a run fails after the new VM is made, and the next one reads its journal again.
    const seeds = [26, 62, ...Array.from({ length: byDepth(1, 8, 100) }, (_, index) => index + 1)];
    for (const seed of seeds) {
      const faults = faultsOf(troublesOf(seed), seededRandom(`beside ${seed}`).fork('strikes'));
      const { scene, before } = await begin(STACK, { seed, faults });
      const ends: RunEnd[] = [await scene.apply(STACK, BOTH), await scene.apply(STACK)];
      scene.faults.stop();
      await scene.clock.advance(CALM_MS);
      administer(scene);
      const bugs = ends.flatMap(codesOf).filter((code) => code === 'INVARIANT');
      const found = [...bugs, ...(await complaintsAfter(scene, STACK, before))];
      failures.push(...found.map((each) => `seed ${seed}: ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
