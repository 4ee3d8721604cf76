/** What commands print with `--json` is what the reference promises, and the promise is not empty. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runApply } from '../src/cli/commands/change/apply.ts';
import { runPlan } from '../src/cli/commands/change/plan.ts';
import { runDoctor } from '../src/cli/commands/check/doctor.ts';
import { runDrift } from '../src/cli/commands/check/drift.ts';
import { runRehearse } from '../src/cli/commands/check/rehearse.ts';
import { runValidate } from '../src/cli/commands/check/validate.ts';
import { runRuns, runRunsShow } from '../src/cli/commands/show/runs.ts';
import { JSON_DOCUMENTS } from '../tools/docs/json-documents.ts';
import { type Bench, type Command, openBench } from './simulation/support/command-bench.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, vmid: 601, node: pve1, guest: plain, power: stopped, clone: { template: ubuntu-24.04 }, memory: 4GiB }
`;

/** In this order: the plan of a new VM, its creation, a change made outside. */
const COMMANDS: readonly (readonly [name: string, command: Command])[] = [
  ['validate', (deps) => runValidate({}, deps)],
  ['doctor', (deps) => runDoctor({}, deps)],
  ['plan', (deps) => runPlan({}, deps)],
  ['rehearse', (deps) => runRehearse({}, deps)],
  ['apply', (deps) => runApply(undefined, { yes: true }, deps)],
  ['drift', (deps) => runDrift({}, deps)],
  ['runs', (deps) => runRuns({}, deps)],
  ['run', (deps) => runRunsShow('last', {}, deps)],
];

let bench: Bench;
const printed = new Map<string, unknown[]>();

beforeAll(async () => {
  bench = await openBench(STACK);
  for (const [name, command] of COMMANDS) {
    if (name === 'drift') await bench.outside.node('pve1').vm(601).config.put({ memory: 2048 });
    const { out } = await bench.run(command, { json: true });
    printed.set(
      name,
      out.split('\n').map((line) => JSON.parse(line) as unknown),
    );
  }
});
afterAll(() => bench?.close());

describe('the documents of --json', () => {
  it.each(JSON_DOCUMENTS.map(({ name, schema }) => [name, schema] as const))('fit their schema: %s', (name, schema) => {
    const documents = printed.get(name) ?? [];
    expect(documents.length).toBeGreaterThan(0);
    for (const document of documents) {
      const { error } = schema.safeParse(document);
      expect(error && z.prettifyError(error)).toBeUndefined();
    }
  });

  it.each(JSON_DOCUMENTS.map(({ name, schema }) => [name, schema] as const))(
    'do not fit without their version: %s',
    (name, schema) => {
      const without = (value: unknown): unknown =>
        Array.isArray(value) ? value.map(without) : { ...(value as object), schema: undefined };
      for (const document of printed.get(name) ?? []) expect(schema.safeParse(without(document)).success).toBe(false);
    },
  );

  it('contain what happened', () => {
    expect(printed.get('drift')).toMatchObject([{ drifts: [{ fields: [{ path: 'memory', actual: '2GiB' }] }] }]);
    expect(printed.get('apply')?.at(-1)).toMatchObject({ type: 'result', outcomes: { 'vm.web': 'done' } });
    expect(printed.get('runs')).toMatchObject([[{ outcome: 'done', vms: 1 }]]);
  });
});
