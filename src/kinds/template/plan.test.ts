import { describe, expect, it } from 'vitest';
import type { Address } from '../../base/address.ts';
import {
  candidateAt,
  NODE,
  observedWith,
  recorded,
  resolvedStack,
  secretsOf,
  UUID,
  vmAt,
} from '../../engine/testing/cluster.ts';
import type { GuestRow } from '../cluster.ts';
import { PlannedIds } from '../ids.ts';
import type { Findings } from '../kind.ts';
import type { Observed } from '../observed.ts';
import { emptyState } from '../recorded.ts';
import { machinesOf } from '../stack.ts';
import type { ObservedVm } from '../vm/observe/observed-vms.ts';
import { printOwnership } from '../vm/ownership.ts';
import type { VmRecord } from '../vm/record.ts';
import { planTemplate } from './plan.ts';
import { recipeOf } from './recipe.ts';
import { retiredAddress } from './versions.ts';

const BASE = 'template.base' as Address; // as the stack below has it
const IMAGE = `
images:
  noble: { url: "https://images.example/noble.qcow2", content: import, storage: local }
`;
const FIELDS = `
    vmid: 9000
    node: ${NODE}
    disks: { scsi0: { image: noble, storage: tank, size: 8GiB } }
    boot: [scsi0]
`;

const stackOf = (template: string, images = IMAGE) => `
version: 1
stack: lab
${images}
templates:
  base:${template}
`;

interface Case {
  readonly text?: string;
  readonly state?: Readonly<Record<string, VmRecord>>;
  readonly observed?: Partial<Observed>;
  readonly replace?: boolean;
}

function planned({ text = stackOf(FIELDS), state = {}, observed, replace = false }: Case = {}) {
  const stack = resolvedStack(text);
  const [template] = stack.templates;
  if (!template) throw new Error('the stack has no template');
  const secrets = secretsOf(stack);
  const recipe = recipeOf(template, stack, secrets);
  const findings: Findings = { problems: [], neededBytes: new Map() };
  const input = { stack, state: { ...emptyState('lab'), vms: { ...state } }, observed: observedWith(observed) };
  const plan = planTemplate(
    {
      ...input,
      stackName: stack.name,
      template,
      ids: new PlannedIds({ ...input, machines: machinesOf(input.stack) }),
      secrets: secrets.get(template.vm.address) ?? new Map(),
      recipe,
      replace,
    },
    findings,
  );
  return { plan, recipe, problems: findings.problems, codes: findings.problems.map(({ code }) => code) };
}

const RECIPE = planned().recipe;
const actionsOf = ({ plan }: ReturnType<typeof planned>) => plan?.steps.map(({ id }) => id.replace(/^[^/]*\//, ''));
const inputOf = ({ plan }: ReturnType<typeof planned>, action: string) =>
  plan?.steps.find((step) => step.action === action)?.input;

const line = (more: Partial<Parameters<typeof printOwnership>[0]> = {}) =>
  printOwnership({ stack: 'lab', address: BASE, vmid: 9000, uuid: UUID, recipe: RECIPE, ...more });
const FINISHED = { template: { recipe: RECIPE, finished: true as const } };
const there = (values: Record<string, string> = {}, template = true, vmid = 9000) =>
  vmAt(vmid, { name: 'base', scsi0: `tank:base-${vmid}-disk-0,size=8G`, boot: 'order=scsi0', ...values }, { template });
const row = (vmid: number, name = 'base'): [number, GuestRow] => [
  vmid,
  { vmid, node: NODE, name, template: true, type: 'qemu' },
];
const present = (vm = there(), address = BASE): Partial<Observed> => ({
  vms: new Map([[address, { kind: 'present', vm }]]),
  templates: new Map([['base', [candidateAt(vm)]]]),
  guests: new Map([row(vm.vmid)]),
});

describe('a template that does not exist', () => {
  it('is built from its image, converted, and named last', () => {
    const made = planned();
    expect(made.plan?.change).toMatchObject({ kind: 'create', vmid: 9000, name: 'base', node: NODE });
    expect(actionsOf(made)).toEqual([
      'reserve',
      'create',
      'configure',
      'resize/scsi0',
      'verify',
      'convert',
      'configure/publish',
      'verify/publish',
    ]);
    expect(inputOf(made, 'vm.create')).toMatchObject({ vmid: 9000, name: 'base', recipe: RECIPE });
    expect(made.plan?.foreseen?.vm).toMatchObject({ ok: true });
  });

  it('is foreseen with the size that its disk will have', () => {
    const { plan } = planned();
    const values = plan?.foreseen?.vm.ok ? plan.foreseen.vm.value.current : new Map();
    expect(values.get('scsi0')).toContain('size=8G');
  });

  it('is built again if it was deleted outside Proxwright', () => {
    const gone = { vms: new Map<Address, ObservedVm>([[BASE, { kind: 'gone' }]]) };
    expect(planned({ state: { [BASE]: recorded(9000, FINISHED) }, observed: gone }).plan?.change.kind).toBe('create');
  });

  it('is refused if its id is taken', () => {
    expect(planned({ observed: { takenIds: new Set([9000]) } }).codes).toEqual(['VMID_TAKEN']);
  });

  it('is refused before anything is created if its clones could not use it', () => {
    const unfit = planned({ text: stackOf(FIELDS.replace('node:', 'guest: cloud-init\n    node:')) });
    expect(unfit.plan).toBeUndefined();
    expect(unfit.problems.map(({ where }) => where?.field)).toEqual(['cloud_init', 'agent']);
  });

  it('is refused with cloud-init files that every clone would get', () => {
    const text = stackOf(`${FIELDS}    cloud_init: { storage: local, user_data: { text: "told" } }\n`);
    expect(planned({ text }).problems.map(({ where }) => where?.field)).toEqual(['cloud_init']);
  });
});

describe('a template whose name another guest has', () => {
  const held = (vm: ReturnType<typeof there>) => ({ templates: new Map([['base', [candidateAt(vm)]]]) });

  it('is used as it is if it was built from the same recipe, by any stack', () => {
    const vm = there({ description: line({ stack: 'other', address: 'template.base' }) });
    const found = planned({ observed: held(vm) });
    expect(found.plan).toMatchObject({ change: { kind: 'none', vmid: 9000 }, steps: [] });
  });

  it.each([
    ['has no line of ours', {}],
    ['was built from another recipe by another stack', { description: line({ stack: 'other', recipe: 'another' }) }],
    ['has a line that was copied from another VM', { description: line({ vmid: 9009 }) }],
  ])('is refused if it %s', (_, values) => {
    const found = planned({ observed: held(there(values)) });
    expect(found.codes).toEqual(['NOT_OURS']);
    expect(found.plan).toBeUndefined();
  });

  it('is refused if it is not a template yet, or not complete', () => {
    const description = line({ stack: 'other' });
    expect(planned({ observed: held(there({ description }, false)) }).codes).toEqual(['NOT_OURS']);
    const half = line({ stack: 'other', incomplete: true });
    expect(planned({ observed: held(there({ description: half })) }).codes).toEqual(['NOT_OURS']);
  });

  it('is reported as lost if this stack built it from another recipe', () => {
    const found = planned({ observed: held(there({ description: line({ recipe: 'another' }) })) });
    expect(found.codes).toEqual(['STATE_LOST']);
    expect(found.problems[0]?.hint?.text).toContain('state recover');
  });

  it('is ignored on another node', () => {
    const elsewhere = candidateAt({ ...there(), node: 'pve2' });
    expect(planned({ observed: { templates: new Map([['base', [elsewhere]]]) } }).plan?.change.kind).toBe('create');
  });
});

describe('a template that exists', () => {
  it('and was built from this recipe is left alone, and found by its clones', () => {
    const found = planned({ state: { [BASE]: recorded(9000, FINISHED) }, observed: present() });
    expect(found.plan).toMatchObject({ change: { kind: 'none', vmid: 9000 }, steps: [], foreseen: { vmid: 9000 } });
  });

  it.each([
    ['of another recipe', { template: { recipe: 'another', finished: true as const } }, false],
    ['that is to be replaced', FINISHED, true],
  ])('%s gets a second version, which takes over the name in the end', (_, memory, replace) => {
    const next = planned({ state: { [BASE]: recorded(9000, memory) }, observed: present(), replace });
    expect(next.plan?.change.kind).toBe('supersede');
    expect(inputOf(next, 'vm.create')).toMatchObject({ name: 'base-next' });
    expect((inputOf(next, 'vm.create') as { vmids: number[] }).vmids.slice(0, 2)).toEqual([9001, 9002]);
    expect(inputOf(next, 'template.retire')).toEqual({
      former: retiredAddress('base', 9000),
      name: 'base-retired-9000',
    });
    expect(actionsOf(next)?.slice(-4)).toEqual(['convert', 'retire', 'configure/publish', 'verify/publish']);
  });

  it('whose id now belongs to another guest is not changed', () => {
    const other = present({ ...there(), uuid: UUID.replace('1', '2') });
    expect(planned({ state: { [BASE]: recorded(9000, FINISHED) }, observed: other }).codes).toEqual(['NOT_OURS']);
  });

  it('and cannot be read is reported', () => {
    const hidden = { vms: new Map<Address, ObservedVm>([[BASE, { kind: 'hidden', needs: 'X' }]]) };
    expect(planned({ state: { [BASE]: recorded(9000, FINISHED) }, observed: hidden }).codes).toEqual([
      'PRIVILEGE_MISSING',
    ]);
  });
});

describe('a template that is half built', () => {
  const HALF = recorded(9000, { phase: 'incomplete', template: { recipe: RECIPE } });
  const vm = there({}, false);

  it('by this recipe is finished', () => {
    const rest = planned({ state: { [BASE]: HALF }, observed: present(vm) });
    expect(rest.plan?.change).toMatchObject({ kind: 'complete', vmid: 9000 });
    expect(actionsOf(rest)?.[0]).toBe('configure');
    expect(actionsOf(rest)).toContain('convert');
  });

  it('and converted only gets its name', () => {
    const rest = planned({ state: { [BASE]: HALF }, observed: present(there()) });
    expect(actionsOf(rest)).toEqual(['configure/publish', 'verify/publish']);
  });

  it('by another recipe is destroyed, and built again under its id', () => {
    const state = { [BASE]: { ...HALF, template: { recipe: 'another' } } };
    const replaced = planned({ state, observed: { ...present(vm), takenIds: new Set([9000]) } });
    expect(replaced.plan?.change).toMatchObject({ kind: 'replace', vmid: 9000 });
    expect(actionsOf(replaced)?.slice(0, 3)).toEqual(['destroy', 'reserve', 'create']);
    expect(replaced.plan?.steps.slice(1, 3).map(({ needs }) => needs)).toEqual([
      [`${BASE}/destroy`],
      [`${BASE}/reserve`],
    ]);
  });

  const FORMER = retiredAddress('base', 9000);
  const beside = (former: ReturnType<typeof there>): Partial<Observed> => ({
    vms: new Map([
      [BASE, { kind: 'present', vm: there({ name: 'base-next' }, false, 9001) }],
      [FORMER, { kind: 'present', vm: former }],
    ]),
    templates: new Map([['base', [candidateAt(former)]]]),
    guests: new Map([row(9000), row(9001, 'base-next')]),
    takenIds: new Set([9000]),
  });

  it('while an older one still has the name retires that one when it is done', () => {
    const state = { [BASE]: { ...HALF, vmid: 9001 }, [FORMER]: recorded(9000, FINISHED) };
    const rest = planned({ state, observed: beside(there()) });
    expect(inputOf(rest, 'template.retire')).toMatchObject({ former: FORMER });
  });

  it('after an older one gave up the name does not retire it again, whatever the list of guests says', () => {
    const state = { [BASE]: { ...HALF, vmid: 9001 }, [FORMER]: recorded(9000, FINISHED) };
    const rest = planned({ state, observed: beside(there({ name: 'base-retired-9000' })) });
    expect(rest.plan?.change.kind).toBe('complete');
    expect(inputOf(rest, 'template.retire')).toBeUndefined();
  });

  it.each(['base', 'base-retired-9000'])(
    'from another recipe, next to one called %s, is built again next to it',
    (name) => {
      const state = {
        [BASE]: { ...HALF, vmid: 9001, template: { recipe: 'another' } },
        [FORMER]: recorded(9000, FINISHED),
      };
      const replaced = planned({ state, observed: beside(there({ name })) });
      expect(replaced.codes).toEqual([]);
      expect(replaced.plan?.change.kind).toBe('replace');
      expect(inputOf(replaced, 'vm.create')).not.toHaveProperty('vmid');
    },
  );

  it('is refused if another guest has taken the name meanwhile', () => {
    const stranger = candidateAt(there({}, true, 9100));
    const observed = { ...present(vm), templates: new Map([['base', [stranger]]]) };
    expect(planned({ state: { [BASE]: HALF }, observed }).codes).toEqual(['NOT_OURS']);
  });
});

describe('a template that installs itself', () => {
  const INSTALLED = stackOf(
    `
    vmid: 9000
    node: ${NODE}
    guest: talos
    disks: { scsi0: { storage: tank, size: 8GiB }, ide2: { iso: "local:iso/talos.iso" } }
    cloud_init: { storage: local, slot: ide0, user_data: { text: "told" } }
    boot: [scsi0, ide2]
    install: { timeout: 20m }
`,
    '',
  );

  it('is configured, started, awaited and freed of its medium before it is converted', () => {
    expect(actionsOf(planned({ text: INSTALLED }))).toEqual([
      'reserve',
      'create',
      'seed',
      'configure',
      'resize/scsi0',
      'verify',
      'install',
      'configure/finalise',
      'verify/finalise',
      'unseed',
      'convert',
      'configure/publish',
      'verify/publish',
    ]);
  });

  it('shows its clones no medium, also while it still has one', () => {
    const { recipe } = planned({ text: INSTALLED });
    const vm = there({ ide2: 'local:iso/talos.iso,media=cdrom', boot: 'order=scsi0;ide2' }, false);
    const state = { [BASE]: recorded(9000, { phase: 'incomplete', template: { recipe } }) };
    for (const found of [planned({ text: INSTALLED }), planned({ text: INSTALLED, state, observed: present(vm) })]) {
      const values = found.plan?.foreseen?.vm.ok ? found.plan.foreseen.vm.value.current : new Map();
      expect([...values.keys()]).not.toContain('ide2');
      expect([...values.keys()]).not.toContain('ide0');
      expect(values.get('boot')).toBe('order=scsi0');
    }
  });

  it.each([
    ['running', ['install', 'configure/finalise']],
    ['done', ['configure/finalise', 'verify/finalise']],
  ] as const)('and whose installation is %s is not configured and started again', (install, first) => {
    const { recipe } = planned({ text: INSTALLED });
    const state = { [BASE]: recorded(9000, { phase: 'incomplete', template: { recipe, install } }) };
    expect(actionsOf(planned({ text: INSTALLED, state, observed: present(there({}, false)) }))?.slice(0, 2)).toEqual(
      first,
    );
  });
});

describe('a template that is copied from a VM', () => {
  const COPY = stackOf(
    `
    vmid: 9000
    node: ${NODE}
    from: { vm: golden }
    cpu: { cores: 3 }
`,
    '',
  );
  const golden = vmAt(150, { name: 'golden', scsi0: 'tank:vm-150-disk-0,size=4G', boot: 'order=scsi0' });

  it('is a full clone of it, template or not', () => {
    const made = planned({ text: COPY, observed: { templates: new Map([['golden', [candidateAt(golden)]]]) } });
    expect(inputOf(made, 'vm.clone')).toMatchObject({ source: { vmid: 150, node: NODE }, mode: 'full', vmid: 9000 });
    const values = made.plan?.foreseen?.vm.ok ? made.plan.foreseen.vm.value.current : new Map();
    expect(values.get('cores')).toBe('3');
  });

  it('is refused if there is no such VM', () => {
    const found = planned({ text: COPY, observed: { guests: new Map([row(150, 'other')]) } });
    expect(found.codes).toEqual(['MISSING_REFERENCE']);
    expect(found.problems[0]?.where?.field).toBe('from');
  });
});

describe('a template on several nodes', () => {
  it('becomes one template per node, each with its own address', () => {
    const text = stackOf(`
    nodes: [pve1, pve2]
    vmids: 9000-9009
    disks: { scsi0: { image: noble, storage: tank } }
    boot: [scsi0]
`);
    const stack = resolvedStack(text);
    expect(stack.templates.map(({ vm }) => vm.address)).toEqual(['template.base["pve1"]', 'template.base["pve2"]']);
    expect(new Set(stack.templates.map((each) => recipeOf(each, stack, secretsOf(stack)))).size).toBe(1);
    expect(planned({ text }).plan?.change).toMatchObject({ address: 'template.base["pve1"]', kind: 'create' });
  });
});
