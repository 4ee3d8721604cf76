/**
 * Replays recorded scenarios against the simulator, in process and on virtual time, and prints what differs.
 *
 *   npx tsx tools/replay-scenarios.ts [--substituted] [--seed N] [--list-failing] [--all] [scenario…]
 *
 * Without names it replays every scenario; a name may be a part of one (`clone` means all with "clone" in them).
 * Passing scenarios are only counted, unless `--all` asks for their lines too. Exit code 1 if anything differs,
 * 2 if no scenario has such a name.
 */
import { seededRandom } from '../src/base/random.ts';
import { createSimulator, recordedWorld } from '../src/simulator/index.ts';
import { loadScenario, scenarioNames } from '../tests/contract/replay/load.ts';
import { formatResult, formatTotals } from '../tests/contract/replay/report.ts';
import type { ReplayResult } from '../tests/contract/replay/run.ts';
import { replayOnVirtualTime } from '../tests/contract/replay/virtual-time.ts';
import { substituteScenario } from '../tests/contract/substitute.ts';
import { substituteWorld } from '../tests/contract/substitute-world.ts';
import { substitutionFor } from '../tests/contract/substitution.ts';
import { toolArguments } from './arguments.ts';

const USAGE =
  'npx tsx tools/replay-scenarios.ts [--all] [--substituted] [--list-failing] [--seed SEED] [PART OF A NAME …]';

async function replay(name: string, substituted: boolean, seed: string): Promise<ReplayResult> {
  const recorded = loadScenario(name);
  const substitution = substitutionFor(recorded);
  const scenario = substituted ? substituteScenario(recorded, substitution) : recorded;
  return replayOnVirtualTime(scenario, (clock) => {
    const world = recordedWorld({ now: clock.now() });
    return createSimulator({
      world: substituted ? substituteWorld(world, substitution) : world,
      clock,
      random: seededRandom(seed),
    }).transport();
  });
}

const { values, positionals } = toolArguments(USAGE, {
  allowPositionals: true,
  options: {
    substituted: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    'list-failing': { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
  },
});

const chosen = scenarioNames().filter(
  (name) => positionals.length === 0 || positionals.some((word) => name.includes(word)),
);
const exact = positionals.filter((word) => chosen.includes(word));
const names = exact.length === positionals.length && exact.length > 0 ? exact : chosen;
if (names.length === 0) {
  console.error(`no scenario is called like ${positionals.join(', ')}`);
  process.exit(2);
}

const results: ReplayResult[] = [];
for (const name of names) {
  const result = await replay(name, values.substituted, values.seed);
  results.push(result);
  const failed = result.mismatches.length > 0;
  if (values['list-failing']) {
    if (failed) console.log(name);
  } else if (failed || values.all) {
    console.log(formatResult(result));
  }
}
if (!values['list-failing']) console.log(formatTotals(results));
process.exitCode = results.some((result) => result.mismatches.length > 0) ? 1 : 0;
