/** HA rules that follow from `ha` and `placement`, on a cluster of five nodes: kept, completed, left to others, removed. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { parseToken } from '../../../src/pve/index.ts';
import type { World } from '../../../src/simulator/index.ts';
import { fiveNodes } from './support/five-nodes.ts';
import { failuresOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { type RunEnd, Scene, type SceneOptions } from './support/scene.ts';

interface Group {
  readonly count?: number;
  readonly nodes?: string;
  readonly placement?: string;
  readonly ha?: string;
}

const group = (
  name: string,
  first: number,
  { count = 3, nodes = 'all', placement = '{}', ha = '{ state: stopped }' }: Group,
) =>
  `  ${name}: { count: ${count}, name: "${name}-\${number}", vmids: ${first}-${first + 8}, nodes: ${nodes}, placement: ${placement}, ${ha === '' ? '' : `ha: ${ha}, `}power: stopped, guest: plain, boot: [net0], nics: { net0: { bridge: vmbr0 } }, disks: { scsi0: { storage: nfs, size: 1GiB, format: qcow2 } } }`;
const stack = (...groups: readonly string[]) => `
version: 1
stack: lab
vms:
${groups.join('\n')}
`;
const control = (more: Group = {}) => group('control', 501, { placement: '{ max_per_node: 1 }', ...more });
const worker = (more: Group = {}) => group('worker', 521, { count: 2, ...more });

const scene = (options: SceneOptions = {}) => new Scene({ world: fiveNodes(), ...options });

/** `control-apart: vm:501 vm:502`, without the hash of the name. */
function rulesIn({ ha }: World): string[] {
  return [...ha.rules.values()]
    .map((rule) => {
      const name = rule.id.replace(/^proxwright-lab-(.*)-[0-9a-f]{6}$/, '$1');
      const nodes =
        rule.type === 'node-affinity'
          ? ` on ${[...rule.nodes.keys()].join(' ')}${rule.strict ? '' : ' if possible'}`
          : ` ${rule.affinity}`;
      return `${name}${nodes}: ${[...rule.resources].sort().join(' ')}${rule.isDisabled ? ' (disabled)' : ''}`;
    })
    .sort();
}
const stepsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.steps.map(({ id }) => id) : end);
const warningsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.warnings.map(({ detail }) => detail) : end);
const ruleWrites = (of: Scene) => of.writes().filter((line) => line.includes('/cluster/ha/rules'));

async function applied(text: string, options?: SceneOptions): Promise<Scene> {
  const made = scene(options);
  expect(failuresOf(await made.apply(text))).toEqual([]);
  await made.clock.advance(120_000);
  return made;
}

/** Another client adds a VM under HA. */
function stranger({ world }: Scene, vmid: number): void {
  const [own] = world.vms.values();
  if (own) world.vms.set(vmid, { ...structuredClone(own), vmid });
  world.ha.resources.set(`vm:${vmid}`, new Map());
}

describe('HA rules of a stack', () => {
  it.each([
    ['one for a group with max_per_node: 1', stack(control()), ['control-apart negative: vm:501 vm:502 vm:503']],
    [
      'one for its nodes, which no failover leaves',
      stack(worker({ nodes: '[pve2, pve1]', placement: '{ spread: false }' })),
      ['worker-nodes on pve1 pve2: vm:521 vm:522'],
    ],
    [
      'one for a spread that a lost node leaves possible',
      stack(control({ placement: '{}' })),
      ['control-apart negative: vm:501 vm:502 vm:503'],
    ],
    [
      'none for a spread that a lost node would make impossible',
      stack(worker({ nodes: '[pve1, pve2]' })),
      ['worker-nodes on pve1 pve2: vm:521 vm:522'],
    ],
    ['none for a limit that rules cannot express', stack(worker({ placement: '{ max_per_node: 2 }' })), []],
    ['none without ha', stack(control({ ha: '' })), []],
    ['none where the file says so', stack(control({ placement: '{ max_per_node: 1, ha_rules: false }' })), []],
    [
      'one with all members for groups that are apart and exclusive',
      stack(control(), worker({ placement: '{ max_per_node: 1, apart_from: control }' })),
      [
        'control-apart negative: vm:501 vm:502 vm:503',
        'control-apart-from-worker negative: vm:501 vm:502 vm:503 vm:521 vm:522',
        'worker-apart negative: vm:521 vm:522',
      ],
    ],
    [
      'one for each member of a group that may share nodes',
      stack(control(), worker({ placement: '{ spread: false, apart_from: control }' })),
      [
        'control-apart negative: vm:501 vm:502 vm:503',
        'control-apart-from-worker negative: vm:501 vm:502 vm:503 vm:521',
        'control-apart-from-worker negative: vm:501 vm:502 vm:503 vm:522',
      ],
    ],
  ])('are %s, and the second plan is empty', async (_, text, rules) => {
    const made = await applied(text);
    expect(rulesIn(made.world)).toEqual(rules);
    for (const rule of made.world.ha.rules.values()) expect(rule.comment).toMatch(/^proxwright: stack=lab lineage=/);
    const again = await made.apply(text);
    expect(stepsOf(again)).toEqual([]);
    expect(warningsOf(again)).toEqual([]);
    expect(ruleWrites(made)).toEqual([]);
  });

  it('follow the group when it grows, shrinks, and when its nodes change', async () => {
    const made = await applied(stack(control({ nodes: '[pve1, pve2, pve3]' })));
    const grown = stack(control({ count: 4, nodes: '[pve1, pve2, pve3, pve4]' }));
    expect(failuresOf(await made.apply(grown))).toEqual([]);
    expect(rulesIn(made.world)).toEqual([
      'control-apart negative: vm:501 vm:502 vm:503 vm:504',
      'control-nodes on pve1 pve2 pve3 pve4: vm:501 vm:502 vm:503 vm:504',
    ]);
    const shrunk = stack(control({ count: 1, nodes: '[pve1, pve2, pve3, pve4]' }));
    expect(stepsOf(await made.plan(shrunk))).toEqual([]);
    expect(failuresOf(await made.apply(shrunk, { allowDelete: true }))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-nodes on pve1 pve2 pve3 pve4: vm:501']);
    expect(stepsOf(await made.plan(shrunk))).toEqual([]);
  });

  it('are removed when "placement" asks for none, and when the VMs leave HA', async () => {
    const made = await applied(stack(control()));
    const without = stack(control({ placement: '{ max_per_node: 1, ha_rules: false }' }));
    expect(failuresOf(await made.apply(without))).toEqual([]);
    expect(rulesIn(made.world)).toEqual([]);
    expect(failuresOf(await made.apply(stack(control())))).toEqual([]);
    expect(rulesIn(made.world)).toHaveLength(1);
    expect(failuresOf(await made.apply(stack(control({ ha: 'false' }))))).toEqual([]);
    expect(rulesIn(made.world)).toEqual([]);
    expect(stepsOf(await made.plan(stack(control({ ha: 'false' }))))).toEqual([]);
  });

  it('stay as they are when "ha" leaves the file, like the HA resources', async () => {
    const made = await applied(stack(control()));
    expect(failuresOf(await made.apply(stack(control({ ha: '' }))))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502 vm:503']);
    expect(failuresOf(await made.destroy(stack(control({ ha: '' }))))).toEqual([]);
    expect(rulesIn(made.world)).toEqual([]);
  });

  it('get back a VM that was replaced, and what another client changed', async () => {
    const made = await applied(stack(control()));
    expect(failuresOf(await made.apply(stack(control()), { replace: ['vm.control[2]'] }))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502 vm:503']);
    const [rule] = made.world.ha.rules.values();
    if (rule) made.world.ha.rules.set(rule.id, { ...rule, isDisabled: true, resources: new Set(['vm:501', 'vm:503']) });
    expect(failuresOf(await made.apply(stack(control())))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502 vm:503']);
    expect(stepsOf(await made.plan(stack(control())))).toEqual([]);
  });

  it('are changed only for the VMs that --only selects', async () => {
    const made = await applied(stack(control({ count: 2 })));
    const four = stack(control({ count: 4 }));
    expect(failuresOf(await made.apply(four, { only: ['vm.control[3]'] }))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502 vm:503']);
    const out = stack(control({ ha: 'false' }));
    expect(failuresOf(await made.apply(out, { only: ['vm.control[3]'] }))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502']);
  });

  it('are gone after a destroy', async () => {
    const text = stack(control({ nodes: '[pve1, pve2, pve3]' }), worker());
    const made = await applied(text);
    expect(rulesIn(made.world)).toHaveLength(3);
    expect(failuresOf(await made.destroy(text))).toEqual([]);
    expect(rulesIn(made.world)).toEqual([]);
    expect(made.world.ha.resources.size).toBe(0);
  });

  it('wait for an HA manager that has just started', async () => {
    const made = await applied(stack(control()));
    expect(ruleWrites(made).length).toBeGreaterThan(1);
    expect(rulesIn(made.world)).toHaveLength(1);
  });
});

describe('rules and VMs of others', () => {
  it('are not touched: a VM that another client added to our rule stays in it through changes, and keeps the rule', async () => {
    const made = await applied(stack(control()));
    stranger(made, 160);
    stranger(made, 161);
    const [rule] = made.world.ha.rules.values();
    if (!rule) throw new Error('no rule');
    made.world.ha.rules.set(rule.id, { ...rule, resources: new Set([...rule.resources, 'vm:160', 'vm:161']) });
    expect(stepsOf(await made.plan(stack(control())))).toEqual([]);
    expect(failuresOf(await made.apply(stack(control({ count: 2 })), { allowDelete: true }))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:160 vm:161 vm:501 vm:502']);
    expect(failuresOf(await made.destroy(stack(control({ count: 2 }))))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:160 vm:161']);
  });

  it('refuse the plan if a rule has a name like ours without our comment', async () => {
    const made = await applied(stack(control()));
    const [rule] = made.world.ha.rules.values();
    if (rule)
      made.world.ha.rules.set(rule.id, { ...rule, comment: 'mine now', resources: new Set(['vm:501', 'vm:502']) });
    const end = await made.apply(stack(control()));
    expect(end).toMatchObject({ kind: 'refused', problems: [{ code: 'NOT_OURS', where: { line: 5 } }] });
    expect(end.kind === 'refused' && end.problems.map(formatDiagnostic).join()).toContain('ha_rules: false');
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502']);
  });

  it.each([
    [
      'confines one of ours to other nodes',
      { type: 'node-affinity' as const, nodes: new Map([['pve1', 0]]), strict: undefined },
      /"stranger" already, and Proxmox allows one/,
    ],
    [
      'keeps two of ours together',
      { type: 'resource-affinity' as const, affinity: 'positive' as const },
      /"stranger" keeps .* together/,
    ],
  ])('refuse the plan with the reason where one %s', async (_, more, words) => {
    const text = stack(control({ nodes: '[pve1, pve2, pve3]' }));
    const made = await applied(
      stack(control({ placement: '{ ha_rules: false, max_per_node: 1 }', nodes: '[pve1, pve2, pve3]' })),
    );
    const resources = new Set(['vm:501', 'vm:502']);
    made.world.ha.rules.set('stranger', { id: 'stranger', resources, comment: undefined, isDisabled: false, ...more });
    const end = await made.apply(text);
    expect(end).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'BAD_VALUE', detail: expect.stringMatching(words) }],
    });
    expect(ruleWrites(made)).toEqual([]);
    // The same rule, made after ours, only warns: nothing of ours has to be sent.
    const [disabled] = [{ id: 'stranger', resources, comment: undefined, isDisabled: true, ...more }];
    made.world.ha.rules.set('stranger', disabled);
    expect(failuresOf(await made.apply(text))).toEqual([]);
    made.world.ha.rules.set('stranger', { ...disabled, isDisabled: false });
    const later = await made.plan(text);
    expect(stepsOf(later)).toEqual([]);
    expect(warningsOf(later)).toEqual([expect.stringMatching(words)]);
  });
});

describe('a rule that the present places contradict', () => {
  it('moves nothing: VMs that share a node join it after a rebalance', async () => {
    const made = await applied(stack(control({ ha: '', placement: '{ spread: false }' })));
    for (const vmid of [501, 502, 503]) {
      const vm = made.world.vms.get(vmid);
      if (vm) made.world.vms.set(vmid, { ...vm, node: vmid === 503 ? 'pve2' : 'pve1' });
    }
    const end = await made.apply(stack(control()));
    expect(failuresOf(end)).toEqual([]);
    expect(warningsOf(end)).toEqual([
      expect.stringMatching(/does not apply to vm\.control\[2\] yet: it is on the same node/),
    ]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:503']);
    await made.clock.advance(60_000);
    expect(stepsOf(await made.plan(stack(control())))).toEqual([]);
    expect(failuresOf(await made.relocate(stack(control()), { relocation: { kind: 'rebalance' } }))).toEqual([]);
    await made.clock.advance(60_000);
    expect(failuresOf(await made.apply(stack(control())))).toEqual([]);
    expect(rulesIn(made.world)).toEqual(['control-apart negative: vm:501 vm:502 vm:503']);
  });
});

describe('a token', () => {
  it('is told that rules are not kept if it may not read them, and sends none', async () => {
    const { Deploy = [] } = LAB_WORLD.roles ?? {};
    const roles = { ...LAB_WORLD.roles, Deploy: Deploy.filter((privilege) => privilege !== 'Sys.Audit') };
    const { secret } = LAB_WORLD.users?.['deploy@pve']?.tokens?.ci ?? {};
    const made = scene({
      world: fiveNodes((world) => ({ ...world, roles })),
      credentials: parseToken(`deploy@pve!ci=${secret}`),
    });
    const end = await made.plan(stack(control()), { checkPrivileges: false });
    expect(warningsOf(end)).toContain('HA rules are neither compared nor kept: the token needs Sys.Audit on /.');
    expect(stepsOf(end)).not.toContainEqual(expect.stringMatching(/^ha-rule/));
  });

  it('needs Sys.Console and Sys.Audit on / for them, and the plan says so before anything is created', async () => {
    const { secret } = LAB_WORLD.users?.['deploy@pve']?.tokens?.ci ?? {};
    const made = scene({ credentials: parseToken(`deploy@pve!ci=${secret}`) });
    expect(failuresOf(await made.apply(stack(control()))).join()).toMatch(/Sys\.Console/);
    expect(made.world.ha.rules.size + made.world.ha.resources.size).toBe(0);
  });
});

it('keeps rules that an earlier state of the stack made as long as VMs of ours are in them', async () => {
  const text = stack(control());
  const made = await applied(text);
  const [rule] = made.world.ha.rules.values();
  if (rule)
    made.world.ha.rules.set(rule.id, { ...rule, comment: 'proxwright: stack=lab lineage=00000000-0000 and a note' });
  expect(stepsOf(await made.plan(text))).toEqual([]);
  expect(failuresOf(await made.destroy(text))).toEqual([]);
  expect(rulesIn(made.world)).toEqual([]);
});
