/** Faults of every kind under Terraform: a creation succeeds or is completed later, and never happens twice. */

import { expect, it } from 'vitest';
import { FAULT_KINDS } from '../../src/simulator/index.ts';
import { byDepth, IS_SAMPLE } from '../support/depth.ts';
import { vmStorm } from './support/vm-storm.ts';

const SEEDS = byDepth(6, 60);

it(`gets the VMs of a configuration through a storm of any of ${SEEDS} seeds`, async () => {
  const failures: string[] = [];
  const struck = new Set<string>();
  const errors = new Set<string>();
  const sums = { faults: 0, imports: 0, attempts: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const end = await vmStorm(seed);
    sums.faults += end.strikes.length;
    sums.imports += end.imports;
    sums.attempts += end.attempts;
    for (const { kind } of end.strikes) struck.add(kind);
    for (const error of end.errors) errors.add(error.split(':')[0] ?? '');
    failures.push(...end.complaints.map((each) => `seed ${seed}: ${each}`));
  }
  process.stdout.write(
    `${SEEDS} storms, ${sums.attempts} applies, ${sums.faults} faults, ${errors.size} kinds of errors, ` +
      `${sums.imports} finished VMs that had to be imported\n`,
  );
  expect(failures.slice(0, 20)).toEqual([]);
  // A storm without a single fault would prove nothing.
  expect(sums.faults).toBeGreaterThan(SEEDS);
  if (IS_SAMPLE) return;
  expect([...struck].sort()).toEqual(FAULT_KINDS.filter((kind) => kind !== 'stranger-edit').sort());
});
