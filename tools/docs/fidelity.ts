/** How faithful the simulator is, in numbers that are always counted and never written by hand. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROUTES } from '../../src/simulator/api/index.ts';
import { API_FACTS } from '../../src/simulator/schema/api-facts.generated.ts';
import { EXTRA_FACTS, otherEndpointsOf } from '../../src/simulator/schema/api-of-release.ts';
import { NEWEST_RELEASE } from '../../src/simulator/world/releases.ts';
import { table } from './markdown.ts';

const PROVENANCE = [
  ['recorded', 'seen in a recording of a real server; the scenario is named'],
  ['observed', 'seen on a real server of that version, without a recording in this repository'],
  ['source', 'read in the source of Proxmox VE; package, file and function are named'],
  ['assumed', 'a reasonable guess that has not been checked'],
] as const;

export async function fidelity(root: string): Promise<string> {
  return [await scenarioCounts(root), await ruleCounts(root), endpointCounts()].join('\n\n');
}

async function scenarioCounts(root: string): Promise<string> {
  const json = async (name: string) =>
    JSON.parse(await readFile(join(root, 'tests/contract', name), 'utf8')) as unknown;
  const { scenarios, steps } = (await json('scenarios.count.json')) as {
    readonly scenarios: number;
    readonly steps: Readonly<Record<string, number>>;
  };
  const known = Object.values((await json('known-mismatches.json')) as Readonly<Record<string, object>>);
  const stepCount = Object.values(steps).reduce((sum, count) => sum + count, 0);
  const mismatchCount = known.reduce((sum, entries) => sum + Object.keys(entries).length, 0);
  return table(
    ['recordings', 'count'],
    [
      ['scenarios', String(scenarios)],
      ['steps in them', String(stepCount)],
      ['steps answered as recorded', String(stepCount - mismatchCount)],
      ['known mismatches', String(mismatchCount)],
    ],
  );
}

async function ruleCounts(root: string): Promise<string> {
  const folder = join(root, 'src/simulator');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
  const count = (kind: string) =>
    texts.reduce((sum, text) => sum + (text.match(new RegExp(`Rule \\[${kind}\\b`, 'g'))?.length ?? 0), 0);
  return table(
    ['rules in the source', 'count', 'evidence'],
    PROVENANCE.map(([kind, meaning]) => [`\`${kind}\``, String(count(kind)), meaning]),
  );
}

function endpointCounts(): string {
  const detailed = [...Object.keys(API_FACTS), ...Object.keys(EXTRA_FACTS)];
  const known = [...detailed, ...otherEndpointsOf(NEWEST_RELEASE)];
  const absent = known.filter((name) => !Object.hasOwn(ROUTES, name)).sort(byPath);
  return [
    table(
      ['endpoints (method and path)', 'count'],
      [
        ['of Proxmox VE, all of them known', String(known.length)],
        ['known by their parameters and privileges', String(detailed.length)],
        ['simulated', String(known.length - absent.length)],
        ['known, and answered with 501', String(absent.length)],
      ],
    ),
    '<details><summary>Endpoints that are known and answered with 501</summary>',
    absent.map((name) => `- \`${name}\``).join('\n'),
    '</details>',
  ].join('\n\n');
}

const byPath = (a: string, b: string) => pathOf(a).localeCompare(pathOf(b), 'en') || a.localeCompare(b, 'en');
const pathOf = (name: string) => name.split(' ')[1] ?? '';
