/** Texts that Proxmox keeps, strips or encodes: whatever a file says, the first apply succeeds and the next plan is empty. */
import { describe, expect, it } from 'vitest';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stackWith = (lines: string) => `
version: 1
stack: lab
vms:
  web: { name: web, node: pve1, power: stopped, clone: { template: ubuntu-24.04 }, ${lines} }
`;

const kinds = (end: RunEnd) => (end.kind === 'ended' ? end.plan.changes.map(({ kind }) => kind) : failuresOf(end));

const TEXTS = [
  'line\r\nline\r\n',
  'a\rb',
  'a  \n b\t\nc\u0085',
  '\n\n x',
  'x\n\n\n',
  ' x ',
  'e\u0301 \u00e9 \u00a0 🙂\u2028z\u00a0',
  '\ufeffx\ufeff',
  'a\u0000b\u001bc\u007f',
  '100% of #1: a=b',
  '0',
  'proxwright: not a line of ours',
];

describe('a description', () => {
  it.each(TEXTS)('is applied with and without the ownership line, and the next plan is empty: %j', async (text) => {
    for (const more of ['', ', ownership: off']) {
      const stack = stackWith(`description: ${JSON.stringify(text)}${more}`);
      const scene = new Scene();
      expect(failuresOf(await scene.apply(stack))).toEqual([]);
      expect(kinds(await scene.plan(stack))).toEqual(['none']);
    }
  });

  it('is changed to other line ends when the file says so', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(stackWith('description: "a\\nb"')))).toEqual([]);
    const windows = stackWith('description: "a\\r\\nb"');
    expect(failuresOf(await scene.apply(windows))).toEqual([]);
    const notes = [...scene.world.vms.values()].map(({ config }) => config.current.get('description'));
    expect(notes).toContainEqual(expect.stringMatching(/^a\r\nb\n\nproxwright: /));
    expect(kinds(await scene.plan(windows))).toEqual(['none']);
  });
});

describe('a value on one line', () => {
  it.each(['cloud_init: { user: "bob " }', 'cloud_init: { user: " bob" }', 'extra: { startdate: " now " }'])(
    'is applied, and the next plan is empty: %s',
    async (lines) => {
      const scene = new Scene();
      expect(failuresOf(await scene.apply(stackWith(lines)))).toEqual([]);
      expect(kinds(await scene.plan(stackWith(lines)))).toEqual(['none']);
    },
  );
});
