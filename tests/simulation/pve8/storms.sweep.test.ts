/** A sample of the storms on releases whose errors say less and whose locks come earlier. */
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../../../src/simulator/index.ts';
import { byDepth, IS_SAMPLE } from '../../support/depth.ts';
import { replayCommand, storm } from '../engine/support/storm.ts';
import { worldOf } from './support/worlds.ts';

const SEEDS = byDepth(2, 12);

describe.each(['8.0', '8.4'])('on Proxmox VE %s', (version) => {
  it(`survives a storm of any of ${SEEDS} seeds`, async () => {
    const failures: string[] = [];
    const struck = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const end = await storm(seed, { world: worldOf(version) });
      for (const { kind } of end.strikes) struck.add(kind);
      failures.push(...end.complaints.map((each) => `seed ${seed}: ${each} (on 9: ${replayCommand(seed)})`));
    }
    expect(failures).toEqual([]);
    expect(struck.size).toBeGreaterThan(0);
    if (!IS_SAMPLE) expect([...struck].sort()).toEqual([...FAULT_KINDS].sort());
  });
});
