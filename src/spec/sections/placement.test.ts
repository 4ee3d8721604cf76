import { describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../index.ts';

const found = (text: string) =>
  resolveStack(loadStack(`version: 1\nstack: lab\n${text}`, 'stack.yaml')).diagnostics.map(
    ({ where, detail }) => `${where?.line}:${where?.column} ${detail}`,
  );

const VM = 'name: web, memory: 1GiB, disks: { scsi0: { storage: tank, size: 8GiB } }, boot: [scsi0]';

describe('nodes, placement and zones in a stack file', () => {
  it('are read from defaults, a group and an override; a later "node" replaces both', () => {
    const { stack, diagnostics } = resolveStack(
      loadStack(
        `version: 1
stack: lab
zones: { rack-a: [pve1, pve2], rack-b: [pve3] }
defaults: { nodes: all, placement: { keep_free: 10% } }
vms:
  control: { ${VM} }
  web: { ${VM.replace('web', '"w-$' + '{number}"')}, count: 2, nodes: [pve1, pve3], placement: { max_per_node: 1, by: cores, spread: false, apart_from: [control] }, overrides: { 2: { node: pve2 } } }
`,
        'stack.yaml',
      ),
    );
    expect(diagnostics).toEqual([]);
    expect(stack?.vms.map(({ fields, placement }) => ({ node: fields.node, placement }))).toEqual([
      {
        node: '(not chosen yet)',
        placement: { nodes: 'all', rules: { spread: true, by: 'memory', keepFree: { share: 0.1 }, apartFrom: [] } },
      },
      {
        node: '(not chosen yet)',
        placement: {
          nodes: ['pve1', 'pve3'],
          rules: { spread: false, by: 'cores', maxPerNode: 1, keepFree: { share: 0.1 }, apartFrom: ['control'] },
        },
      },
      { node: 'pve2', placement: undefined },
    ]);
    expect(stack?.zones?.map(({ name, nodes }) => [name, nodes.map(({ node }) => node)])).toEqual([
      ['rack-a', ['pve1', 'pve2']],
      ['rack-b', ['pve3']],
    ]);
  });

  it.each([
    [
      'node together with nodes',
      `vms:\n  web: { ${VM}, node: pve1, nodes: [pve1] }`,
      /^4:\d+ "node" and "nodes" cannot be used together/,
    ],
    [
      'placement together with node',
      `vms:\n  web: { ${VM}, node: pve1, placement: { spread: true } }`,
      /^4:\d+ "placement" says how to choose among several nodes, but "node" names one\.$/,
    ],
    [
      'a node that is named twice',
      `vms:\n  web: { ${VM}, nodes: [pve1, pve1] }`,
      /^4:\d+ "nodes" names "pve1" twice\.$/,
    ],
    [
      'a group that does not exist',
      `vms:\n  web: { ${VM}, nodes: all, placement: { apart_from: [contol] } }\n  control: { ${VM.replace('web', 'c')}, node: pve1 }`,
      /^4:\d+ "placement.apart_from" names "contol", which is not a group of this stack\.$/,
    ],
    [
      'a group kept apart from itself',
      `vms:\n  web: { ${VM}, nodes: all, placement: { apart_from: [web] } }`,
      /^4:\d+ The group "web" cannot be kept apart from itself\.$/,
    ],
    [
      'a node in two zones',
      `zones:\n  a: [pve1]\n  b: [pve1]\nvms: {}`,
      /^5:7 The node "pve1" is in the zones "a" and "b"; a node can be in only one zone\.$/,
    ],
    ['an empty zone', 'zones: { a: [] }\nvms: {}', /^3:\d+ /],
    [
      'a share of memory that leaves nothing',
      `vms:\n  web: { ${VM}, nodes: all, placement: { keep_free: 100% } }`,
      /^4:\d+ .*"100%" is neither a percentage below 100% nor a size; write 10% or 8GiB/,
    ],
    ['no node at all', `vms:\n  web: { ${VM} }`, /"node" is missing\.$/],
  ])('are refused with their line: %s', (_, text, expected) => {
    expect(found(text)).toEqual([expect.stringMatching(expected)]);
  });
});
