/**
 * Whether the tests would notice a mistake: `npm run mutation` plants one mutant after the other in the modules where a
 * silent error costs a VM or a plan, and runs the tests near them. `npm run mutation -- wire tasks` takes some areas only,
 * `--files src/pve/wire/scalars.ts` some files of them. It lists every survivor and fails where an area kills fewer than its
 * share. What survives, and why: docs/mutation.md.
 */
import { relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { refuseArguments, toolArguments } from './arguments.ts';

interface Area {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

const AREAS: Readonly<Record<string, Area>> = {
  identity: {
    mutate: ['src/kinds/vm/{identity,ownership}.ts'],
    tests: ['src/kinds/vm/{identity,ownership}.test.ts'],
  },
  wire: {
    mutate: ['src/pve/wire/**/*.ts'],
    tests: ['src/pve/wire/**/*.test.ts', 'tests/contract/wire-formats.test.ts'],
  },
  tasks: {
    mutate: ['src/pve/tasks/*.ts'],
    tests: ['src/pve/tasks/*.test.ts'],
  },
  cty: {
    mutate: ['src/provider/cty/*.ts'],
    tests: ['src/provider/cty/*.test.ts'],
  },
  errors: {
    mutate: ['src/pve/errors/*.ts'],
    tests: ['src/pve/errors/*.test.ts'],
  },
  journal: {
    mutate: ['src/state/events.ts', 'src/state/journal.ts'],
    tests: ['src/state/*.test.ts'],
  },
  diff: {
    mutate: ['src/kinds/vm/{diff/*,config/parts,config/disks}.ts'],
    tests: ['src/kinds/vm/diff/*.test.ts', 'src/kinds/vm/config/{parts,disks}.test.ts'],
  },
};

const LEAST_KILLED_PERCENT = 85;

const USAGE = `npm run mutation -- [--files PATTERN] [AREA …]\n\nAreas: ${Object.keys(AREAS).join(', ')}.`;
const { values, positionals } = toolArguments(USAGE, {
  options: { files: { type: 'string' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in AREAS));
if (unknown.length > 0) refuseArguments(`There is no area "${unknown.join('", "')}".`, USAGE);

for (const [name, area] of Object.entries(AREAS)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const killedPercent = await mutate(name, area);
  if (killedPercent < LEAST_KILLED_PERCENT) process.exitCode = 1;
}

/** Percent killed in one area; its survivors are printed, where they stand and what they became. */
async function mutate(name: string, { mutate, tests }: Area): Promise<number> {
  process.env.PROXWRIGHT_MUTATION_TESTS = JSON.stringify(tests);
  const results = await new Stryker({
    mutate: [...(values.files?.split(',') ?? mutate), '!**/*.test.ts', '!**/testing/**'],
    jsonReporter: { fileName: `build/mutation/${name}.json` },
  }).runMutationTest();
  const survivors = results.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const killed = results.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  for (const { fileName, location, replacement, mutatorName, status } of survivors) {
    const place = `${relative(process.cwd(), fileName)}:${location.start.line}:${location.start.column + 1}`;
    console.log(`${place} ${mutatorName}${status === 'NoCoverage' ? ' (no test runs it)' : ''}: ${replacement}`);
  }
  const counted = killed.length + survivors.length;
  if (counted === 0)
    throw new Error(`The area "${name}" has no mutants: its paths in tools/mutation.ts are out of date.`);
  const percent = (100 * killed.length) / counted;
  console.log(`${name}: ${killed.length} of ${counted} mutants killed (${percent.toFixed(1)} %)`);
  return percent;
}
