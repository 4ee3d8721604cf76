import { describe, expect, it } from 'vitest';
import { planStack } from '../../engine/plan.ts';
import { candidateAt, observedWith, resolvedStack, secretsOf, siteOf, vmAt } from '../../engine/testing/cluster.ts';
import type { Plan } from '../change.ts';
import { emptyState, type StackState } from '../recorded.ts';
import { neededTemplates, withForeseen } from './foreseen.ts';

const TEXT = `
version: 1
stack: lab
images:
  noble: { url: "https://images.example/noble.qcow2", content: import, storage: local }
  spare: { url: "https://images.example/spare.qcow2", content: import, storage: local, nodes: [pve1] }
templates:
  base: { vmid: 9000, node: pve1, disks: { scsi0: { image: noble, storage: tank } }, boot: [scsi0] }
  other: { vmid: 9100, node: pve1, disks: { scsi0: { image: noble, storage: tank } }, boot: [scsi0] }
defaults: { node: pve1 }
vms:
  web: { name: web, vmid: 101, clone: { template: base } }
  byid: { name: byid, vmid: 102, clone: { template: 9100 }, after: [web] }
`;
const STACK = resolvedStack(TEXT);

function planned(only: readonly string[] = [], state: StackState = emptyState('lab')): Plan {
  const sites = STACK.images.map((image) => siteOf(STACK, { image }));
  const planOf = planStack({
    stack: STACK,
    state,
    observed: observedWith({ images: sites }),
    secrets: secretsOf(STACK),
    now: 0,
    only,
  });
  if (!planOf.ok) throw new Error(planOf.problems.map(({ detail }) => detail).join('\n'));
  return planOf.plan;
}

const addressesOf = ({ changes }: Plan) => changes.map(({ address }) => address as string);
const needsOf = ({ steps }: Plan, id: string) => steps.find((step) => step.id === id)?.needs;

describe('templates that VMs need', () => {
  const vmNamed = (name: string) => STACK.vms.filter(({ fields }) => fields.name === name);

  it('are found by name and by id', () => {
    expect(neededTemplates(STACK, vmNamed('web')).map(({ name }) => name)).toEqual(['base']);
    expect(neededTemplates(STACK, vmNamed('byid')).map(({ name }) => name)).toEqual(['other']);
    expect(neededTemplates(STACK, [])).toEqual([]);
  });
});

describe('a plan of images, templates and VMs', () => {
  it('lists them in the order of creation, each waiting for its source', () => {
    const plan = planned();
    expect(addressesOf(plan)).toEqual([
      'image.noble["pve1"]',
      'image.spare["pve1"]',
      'template.base',
      'template.other',
      'vm.web',
      'vm.byid',
    ]);
    expect(needsOf(plan, 'template.base/reserve')).toEqual(['image.noble["pve1"]/fetch']);
    expect(needsOf(plan, 'vm.web/reserve')).toEqual(['template.base/verify/publish']);
    expect(needsOf(plan, 'vm.byid/reserve')).toEqual(['template.other/verify/publish', 'vm.web/ready']);
    expect(needsOf(plan, 'vm.byid/clone')).toEqual(['vm.byid/reserve']);
  });

  it.each([
    [['vm.web'], ['image.noble["pve1"]', 'template.base', 'vm.web']],
    [['template.other'], ['image.noble["pve1"]', 'template.other']],
    [['image.spare'], ['image.spare["pve1"]']],
    [
      ['image.spare["pve1"]', 'vm.byid'],
      ['image.noble["pve1"]', 'image.spare["pve1"]', 'template.other', 'vm.byid'],
    ],
  ])('of %s alone includes their sources, and nothing else', (only, addresses) => {
    expect(addressesOf(planned(only))).toEqual(addresses);
  });
});

describe('the cluster after the templates are built', () => {
  const old = candidateAt(vmAt(9000, { name: 'base' }, { template: true }));
  const next = candidateAt(vmAt(9002, { name: 'base' }, { template: true }), {
    address: STACK.templates[0]?.vm.address ?? old.address ?? ('' as never),
  });
  const elsewhere = candidateAt({ ...vmAt(9009, { name: 'base' }, { template: true }), node: 'pve2' });
  const planOf = (foreseen?: typeof next) => ({
    change: planned().changes[0] as never,
    steps: [],
    ...(foreseen && { foreseen }),
  });

  it('has the new version instead of the old one, by name and by id, and leaves other nodes alone', () => {
    const observed = observedWith({ templates: new Map([['base', [old, elsewhere]]]) });
    const { templates } = withForeseen(observed, [planOf(next)]);
    expect(templates.get('base')).toEqual([elsewhere, next]);
    expect(templates.get('#9002')).toEqual([next]);
  });

  it('is unchanged if none is built', () => {
    const observed = observedWith();
    expect(withForeseen(observed, [planOf()])).toBe(observed);
  });
});

describe('a template that cannot be planned', () => {
  it('is reported once, and not again for its clones', () => {
    const stack = resolvedStack(TEXT);
    const result = planStack({
      stack,
      state: emptyState('lab'),
      observed: observedWith({
        images: stack.images.map((image) => siteOf(stack, { image })),
        takenIds: new Set([9000]),
      }),
      secrets: secretsOf(stack),
      now: 0,
    });
    expect(result.ok ? [] : result.problems.map(({ code, where }) => [code, where?.address])).toEqual([
      ['VMID_TAKEN', 'template.base'],
    ]);
  });
});
