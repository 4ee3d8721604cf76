/** Groups that follow their template: members are replaced in turns once the name means another template. */
import { describe, expect, it } from 'vitest';
import { guestState } from '../../../src/simulator/guests/guest.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { pointsOf } from '../../support/depth.ts';
import { beforehand, complaintsAfter, failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { Scene, type Snapshot } from './support/scene.ts';

const stackWith = (replace: string) => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: linked } }
vms:
  web: { count: 3, name: "web-\${number}", vmids: 401-409, guest: cloud-init, update: { replace: ${replace} } }
rollout: { readiness: parallel, limits: { clones_per_node: 5, clones_per_storage: 5 } }
`;
const FOLLOWING = stackWith('when_template_changes');
const NAMES = new Set(['web-1', 'web-2', 'web-3']);
const OLD = 9000;
const NEW = 9012;

let cached: Promise<Snapshot> | undefined;

/** Three VMs that run, made from a template whose name another one has since. */
function standing(): Promise<Snapshot> {
  cached ??= (async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(FOLLOWING))).toEqual([]);
    const old = scene.world.vms.get(OLD);
    if (!old) throw new Error('The template is not there.');
    scene.world.vms.set(NEW, { ...old, vmid: NEW, config: { ...old.config, current: new Map(old.config.current) } });
    const draft = draftOf(old.config);
    draft.current.set('name', 'ubuntu-before');
    saveConfig(old, draft);
    await scene.clock.advance(120_000);
    return scene.snapshot();
  })();
  return cached;
}

async function watched(): Promise<{ readonly scene: Scene; readonly mostDown: () => number }> {
  const scene = new Scene({ from: await standing() });
  let most = 0;
  const look = () => {
    const there = [...scene.world.vms.values()].filter(({ config }) => NAMES.has(config.current.get('name') ?? ''));
    const up = there.filter(({ process }) => guestState(process, scene.clock.now()).agentAnswers);
    most = Math.max(most, NAMES.size - up.length);
  };
  scene.onRequest = look;
  scene.onEvent = look;
  return { scene, mostDown: () => most };
}

/** ID and MAC address of every member. */
const identities = async (scene: Scene) =>
  Object.values((await scene.state()).vms).map(({ vmid, macs }) => [vmid, macs.net0]);

const sources = async (scene: Scene) => Object.values((await scene.state()).vms).map(({ source }) => source?.vmid);

describe('a group whose template changed', () => {
  it('is replaced in turns if it follows its template, and only once', async () => {
    const { scene, mostDown } = await watched();
    const before = await identities(scene);
    expect(new Set(before.map(([, mac]) => mac)).size).toBe(3);
    const end = await scene.apply(FOLLOWING);
    expect(failuresOf(end)).toEqual([]);
    expect(end.kind === 'ended' && end.plan.changes.map(({ kind, reason }) => [kind, reason])).toContainEqual([
      'replace',
      `It is replaced, because it was made from ${OLD}, and the template ubuntu-24.04 is another one now.`,
    ]);
    expect(mostDown()).toBe(1);
    expect(scene.tasks('qmdestroy')).toHaveLength(3);
    expect(await sources(scene)).toEqual([NEW, NEW, NEW]);
    expect(await identities(scene)).toEqual(before);
    const second = await scene.plan(FOLLOWING);
    expect(second.kind === 'ended' && second.plan.steps).toEqual([]);
  });

  it('stays as it is otherwise, and the plan names both templates', async () => {
    const { scene } = await watched();
    const end = await scene.plan(stackWith('never'));
    expect(end.kind === 'ended' && end.plan.steps).toEqual([]);
    expect(end.kind === 'ended' && end.plan.changes[0]?.notes?.join('\n')).toMatch(/9000.*9012/);
  });

  it('has never two members down, replaces none twice and keeps IDs and MAC addresses, wherever it is killed', async () => {
    const whole = await watched();
    expect(failuresOf(await whole.scene.apply(FOLLOWING))).toEqual([]);
    const failures: string[] = [];
    for (const killAt of pointsOf(whole.scene.points.length, 31)) {
      const { scene, mostDown } = await watched();
      const before = beforehand(scene, new Set([...STRANGERS, NEW]));
      const own = JSON.stringify(await identities(scene));
      scene.killAt = killAt;
      await scene.apply(FOLLOWING);
      const found = await complaintsAfter(scene, FOLLOWING, before);
      if (mostDown() > 1) found.push(`${mostDown()} members were down at once`);
      const made = scene.tasks('qmclone').filter((status) => status === 'OK').length;
      if (made > 6) found.push(`${made} clones`);
      const now = JSON.stringify(await identities(scene));
      if (now !== own) found.push(`members were ${own} and are ${now}`);
      failures.push(...found.map((each) => `killed at ${killAt} (${whole.scene.points[killAt - 1]}): ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
