import { describe, expect, it } from 'vitest';
import type { Observed } from '../../../observed.ts';
import { noSuchNode } from './checks.ts';

const nodes = (...names: string[]): Observed['nodes'] => new Map(names.map((name) => [name, { name, online: true }]));
const where = { field: 'node' };

describe('a node that the server does not list', () => {
  it('is reported with those that it lists, and the nearest of them', () => {
    expect(noSuchNode('pve9', nodes('pve2', 'pve1'), where)).toMatchObject({
      detail: 'There is no node "pve9"; the cluster has pve1, pve2.',
      hint: { text: expect.stringMatching(/^Did you mean "pve[12]"\?$/) },
      where,
    });
    expect(noSuchNode('somewhere', nodes('pve1'), where).hint?.text).toBe('Correct the name.');
  });

  it('is reported as such if the server lists none', () => {
    expect(noSuchNode('pve9', nodes(), where).detail).toBe('There is no node "pve9"; the server lists none.');
  });
});
