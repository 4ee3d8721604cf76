/** Faults drawn from seeds on the way from a bare host; PROXWRIGHT_STORMS sets the number of seeds of the deep part. */
import { expect, it } from 'vitest';
import { byDepth, IS_SAMPLE } from '../../support/depth.ts';
import { storm } from './support/storm.ts';

const SEEDS = byDepth(3, Number(process.env.PROXWRIGHT_STORMS ?? 32));
const FROM = Number(process.env.PROXWRIGHT_STORMS_FROM ?? 1);

it(`survives a storm of any of ${SEEDS} seeds`, async () => {
  const failures: string[] = [];
  const struck = new Map<string, number>();
  const codes = new Set<string>();
  let kills = 0;
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    const end = await storm(seed);
    kills += end.kills;
    for (const { kind } of end.strikes) struck.set(kind, (struck.get(kind) ?? 0) + 1);
    for (const code of end.codes) codes.add(code);
    failures.push(...end.complaints.map((each) => `seed ${seed}: ${each}`));
  }
  const faults = [...struck.values()].reduce((sum, count) => sum + count, 0);
  process.stdout.write(`${SEEDS} storms with ${faults} faults, ${kills} kills, ${codes.size} codes of errors\n`);
  expect(failures.slice(0, 40)).toEqual([]);
  // A storm without a single fault would prove nothing.
  expect(faults).toBeGreaterThan(SEEDS);
  if (IS_SAMPLE) return;
  expect([...struck.keys()]).toEqual(expect.arrayContaining(['download-fail', 'upload-cut', 'task-fail', 'cut-after']));
  expect(codes.size).toBeGreaterThan(3);
});
