/** Whole lives of VMs on every release that differs: made, changed, changed by others, made again, moved, destroyed. */
import { describe, expect, it } from 'vitest';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { beforehand, complaintsAfter, complaintsAfterDestroy, failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { FIVE_VMS, FIVE_VMS_CHANGED, MIXED, MIXED_CHANGED } from '../engine/support/stacks.ts';
import { OLD_RELEASES, worldOf } from './support/worlds.ts';

describe.each([...OLD_RELEASES, '9.0', '9.1'])('on Proxmox VE %s', (version) => {
  const scene = () => new Scene({ world: worldOf(version) });

  it.each([
    ['five VMs', FIVE_VMS, FIVE_VMS_CHANGED],
    ['VMs of all kinds', MIXED, MIXED_CHANGED],
  ])('creates, changes and destroys %s, each time exactly as the file says', async (_, first, second) => {
    const around = scene();
    const expectations = beforehand(around);
    expect(await complaintsAfter(around, first, expectations)).toEqual([]);
    expect(await complaintsAfter(around, second, expectations)).toEqual([]);
    expect(await complaintsAfterDestroy(around, second, expectations)).toEqual([]);
  });

  it('shows and corrects changes from outside, and nothing else', async () => {
    const around = scene();
    expect(failuresOf(await around.apply(FIVE_VMS))).toEqual([]);
    const vm = around.world.vms.get(401);
    if (!vm) throw new Error('it was made');
    const draft = draftOf(vm.config);
    draft.current.set('cores', '7');
    draft.current.set('onboot', '1');
    saveConfig(vm, draft);
    const end = await around.plan(FIVE_VMS);
    const differences = end.kind === 'ended' ? end.plan.changes.flatMap((change) => change.differences) : [];
    expect(differences.map(({ path, by, before, after }) => [path, by, before, after])).toEqual([
      ['cpu.cores', 'others', 7, 4],
    ]);
    expect(failuresOf(await around.apply(FIVE_VMS))).toEqual([]);
    expect(around.world.vms.get(401)?.config.current.get('onboot')).toBe('1');
  });
});
