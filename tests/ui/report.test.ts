/** The commands that draw a run, on the simulator: the files they leave, and what is in them. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApply } from '../../src/cli/commands/change/apply.ts';
import { runRehearse } from '../../src/cli/commands/check/rehearse.ts';
import { runReport } from '../../src/cli/commands/show/report.ts';
import { createPageSource } from '../../src/cli/ui/source.ts';
import { type Bench, openBench } from '../simulation/support/command-bench.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, vmid: 601, node: pve1, guest: plain, power: stopped, clone: { template: ubuntu-24.04 } }
`;

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(STACK);
  expect((await bench.run((deps) => runApply(undefined, { yes: true, verify: true }, deps))).code).toBe(0);
});
afterAll(() => bench?.close());

describe('report', () => {
  it('writes the last run as a private page and a picture, and prints their names', async () => {
    const { code, out } = await bench.run((deps) => runReport(undefined, {}, deps));
    expect(code).toBe(0);
    const [html = '', svg = ''] = out.split('\n');
    expect(bench.read(html)).toContain('<h1>apply of lab: done after');
    expect(bench.read(svg)).toMatch(/^<svg .*\n<title id="pw-title">apply of lab, run /);
    for (const file of [html, svg]) expect(statSync(join(bench.directory, file)).mode & 0o777).toBe(0o600);
  });

  it('names the files, the outcome and the critical path for programs', async () => {
    const { out } = await bench.run((deps) => runReport('last', { out: 'here.html' }, deps), { json: true });
    expect(JSON.parse(out)).toMatchObject({
      schema: 1,
      outcome: 'done',
      files: { html: 'here.html', svg: 'here.svg' },
      criticalPath: expect.arrayContaining([expect.objectContaining({ address: 'vm.web', step: 'clone' })]),
    });
  });

  it('refuses a run that does not exist', async () => {
    const { code, said } = await bench.run((deps) => runReport('nonsense', {}, deps));
    expect(code).toBe(1);
    expect(said).toContain('There is no run "nonsense".');
  });
});

describe('apply --verify', () => {
  it('shows the picture of the run in the evidence table', () => {
    const [, name = ''] = /!\[timeline of the run\]\(([^)]+)\)/.exec(bench.read('evidence.md')) ?? [];
    expect(name).toMatch(/^timelines\/\d{8}T\d{6}Z-\w+\.svg$/);
    expect(bench.read(name)).toContain('data-address="vm.web"');
    expect(JSON.parse(bench.read('evidence.jsonl'))).toMatchObject({ timeline: name });
  });
});

describe('after a rehearsal', () => {
  it('lays the prediction over the run, in the report and on the page', async () => {
    const own = await openBench(STACK);
    expect((await own.run((deps) => runRehearse({}, deps))).code).toBe(0);
    expect((await own.run((deps) => runApply(undefined, { yes: true }, deps))).code).toBe(0);
    const { out } = await own.run((deps) => runReport(undefined, {}, deps));
    const [html = '', svg = ''] = out.split('\n');
    expect(own.read(html)).toContain('Predicted and actual end');
    expect(own.read(svg)).toContain('class="pw-ghost"');
    await own.run(async (deps) => {
      const source = await createPageSource({}, deps);
      const run = await source.run('lab', 'last');
      expect(run?.prediction?.rows.map(({ address }) => address)).toEqual(['vm.web']);
      expect(await source.report('lab', run?.chart.runId ?? '')).toContain('Predicted and actual end');
      return 0;
    });
    await own.close();
  });
});

describe('the page', () => {
  const WEB = { name: 'web', node: 'pve1', guest: 'plain', clone: { template: 'ubuntu-24.04' } };
  const wide = JSON.stringify({ version: 1, stack: 'wide', vms: { web: WEB } }, undefined, 2);
  const dense = JSON.stringify({ version: 1, stack: 'dense', vms: { web: WEB } });

  it('finds stacks in YAML and in JSON, however that is laid out, and nothing else', async () => {
    const own = await openBench(STACK);
    own.write('wide.json', wide);
    own.write('dense.json', dense);
    own.write('other.json', '{ "name": "x", "stacked": "y" }');
    own.write('other.yaml', 'services:\n  stack: x\n');
    await own.run(async (deps) => {
      const names = (await (await createPageSource({}, deps)).stacks()).map(({ name }) => name);
      expect(names.toSorted()).toEqual(['dense', 'lab', 'wide']);
      return 0;
    });
    await own.close();
  });
});
