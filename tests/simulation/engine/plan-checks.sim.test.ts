/** What the file refers to and the cluster lacks is found by the plan, with the line, before anything is made. */
import { expect, it } from 'vitest';
import { Scene } from './support/scene.ts';

const stack = (more: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    node: pve1
    guest: plain
    clone: { template: ubuntu-24.04, storage: local-lvm }
    ${more}
`;

it.each([
  ['pool: labb', 'MISSING_REFERENCE', 'There is no pool "labb".'],
  ['cpu: { cores: 64, sockets: 4 }', 'BAD_VALUE', 'vm.web has 256 cores, but pve1 has only'],
])('refuses %s at its line', async (more, code, detail) => {
  const scene = new Scene();
  const end = await scene.apply(stack(more));
  expect(end).toMatchObject({
    kind: 'refused',
    problems: [{ code, where: { line: 9 }, detail: expect.stringContaining(detail) }],
  });
  expect(scene.writes()).toEqual([]);
});

it('accepts a pool that exists, and many cores in a VM that stays off', async () => {
  expect(await new Scene().plan(stack('pool: lab'))).toMatchObject({ kind: 'ended' });
  expect(
    await new Scene().plan(
      stack('{ power: stopped, cpu: { cores: 64 } }').replace(
        '{ power: stopped, cpu: { cores: 64 } }',
        'power: stopped\n    cpu: { cores: 64 }',
      ),
    ),
  ).toMatchObject({ kind: 'ended' });
});
