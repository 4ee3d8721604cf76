/** How soon a run notices that a guest is up, wherever the questions happen to fall: on virtual time, against the critical path. */
import { describe, expect, it } from 'vitest';
import { EngineScene } from '../../tools/bench/engine-scene.ts';

/** The whole apply of one VM, relative to what storage and guest need. */
async function ratioOf(guestTimes: { boot_ms: number; agent_ms: number; network_ms: number }): Promise<number> {
  const scene = new EngineScene({ vms: 1, guest: 'cloud-init', guestTimes });
  const { elapsedMs } = await scene.apply();
  const tasksMs = ['qmclone', 'resize', 'qmstart'].reduce((sum, type) => sum + (scene.taskMs(type).at(-1) ?? 0), 0);
  return elapsedMs / (tasksMs + guestTimes.boot_ms + Math.max(guestTimes.agent_ms, guestTimes.network_ms));
}

describe('the end of a boot', () => {
  // The times at which longer or shorter pauses between two questions to a silent agent were the most wrong.
  it.each([
    ['network up before the agent', { agent_ms: 4_000, network_ms: 1_500 }, [22_520, 23_250, 52_450]],
    ['agent up before the network', { agent_ms: 2_000, network_ms: 3_000 }, [12_300, 13_030, 48_070, 52_450]],
  ])('is noticed within 5 % of the whole apply: %s', async (_, times, boots) => {
    for (const boot_ms of boots) expect(await ratioOf({ ...times, boot_ms })).toBeLessThanOrEqual(1.05);
  });
});
