import { describe, expect, it } from 'vitest';
import { type Change, rollsOf } from '../../../kinds/change.ts';
import { pciMapStep } from '../../../kinds/pci-mapping/mapping.ts';
import { vmStep } from '../../../kinds/vm/steps.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { coloured, fitLines, paintFor, plainPaint, visibleWidth } from '../text/paint.ts';
import { printValue, renderChange, renderPlan, renderSummary } from './plan.ts';

const PLAN = planOf([
  change({
    address: address('vm.web[1]'),
    kind: 'create',
    vmid: undefined,
    reason: 'It is a full clone of ubuntu-24.04 (9000 on pve1).',
    differences: [
      { path: 'cpu.cores', key: 'cores', before: 2, after: 4, by: 'file', effect: 'live' },
      { path: 'tags', key: 'tags', before: null, after: ['prod', 'web'], by: 'file', effect: 'live' },
      {
        path: 'cloud_init.password',
        key: 'cipassword',
        before: null,
        after: '•••',
        by: 'file',
        effect: 'live',
        secret: true,
      },
    ],
    inherited: ['ide2: cloud-init drive on local-lvm', 'net1: virtio on vmbr1'],
  }),
  change({
    address: address('vm.web[2]'),
    kind: 'update',
    name: 'web-2',
    vmid: 402,
    reason: 'The file changed, and so did the VM outside Proxwright.',
    differences: [
      { path: 'memory', key: 'memory', before: '4GiB', after: '8GiB', by: 'file', effect: 'restart' },
      { path: 'nics.net0.vlan', key: 'net0', before: 30, after: 20, by: 'others', effect: 'live' },
      { path: 'description', key: 'description', before: 'x', after: 'two words', by: 'both', effect: 'live' },
    ],
    unmanaged: ['balloon'],
    restartPending: ['memory'],
  }),
  change({
    address: address('vm.db'),
    kind: 'replace',
    name: 'db',
    vmid: 410,
    reason: 'It is replaced, because you asked for it.',
  }),
  change({
    address: address('vm.old'),
    kind: 'delete',
    name: 'old',
    vmid: 420,
    reason: 'It is no longer in the file.',
  }),
  change({
    address: address('vm.kept'),
    kind: 'keep',
    name: 'kept',
    vmid: 430,
    reason: 'It is not in the file. Proxwright keeps it; only --allow-delete deletes it.',
  }),
  change({ address: address('vm.same'), kind: 'none', name: 'same', vmid: 440, reason: 'It matches the file.' }),
  change({
    address: address('vm.later'),
    kind: 'none',
    name: 'later',
    vmid: 441,
    reason: 'It matches the file.',
    restartPending: ['cpu.cores'],
  }),
]);

describe('the view of a plan', () => {
  it('shows per VM what happens and why, field by field, and the totals', () => {
    expect(renderPlan(PLAN, plainPaint).join('\n')).toMatchInlineSnapshot(`
      "+ vm.web[1]  create web-1 (on pve1)
          It is a full clone of ubuntu-24.04 (9000 on pve1).
          cpu.cores            2 → 4
          tags                 [prod, web]
          cloud_init.password  •••
          inherited, kept: ide2: cloud-init drive on local-lvm; net1: virtio on vmbr1

      ~ vm.web[2]  change web-2 (VM 402 on pve1)
          The file changed, and so did the VM outside Proxwright.
          memory          4GiB → 8GiB  [changed in the file, after a restart]
          nics.net0.vlan  30 → 20  [changed outside Proxwright, live]
          description     x → "two words"  [changed in the file and outside Proxwright, live]
          no longer managed, left unchanged: balloon
          restart pending: memory

      ± vm.db  replace db (VM 410 on pve1)
          It is replaced, because you asked for it.

      - vm.old  delete old (VM 420 on pve1)
          It is no longer in the file.

      = vm.kept  keep kept (VM 430 on pve1)
          It is not in the file. Proxwright keeps it; only --allow-delete deletes it.

        vm.later  unchanged later (VM 441 on pve1)
          It matches the file.
          restart pending: cpu.cores

      2 to create, 1 to change, 2 to delete."
    `);
  });

  it('says "No changes." if nothing changes', () => {
    const same = planOf([change({ address: address('vm.a'), kind: 'none' })]);
    expect(renderPlan(same, plainPaint)).toEqual(['No changes.']);
  });

  it('shows power changes, moves and restarts in addition to the fields', () => {
    const moving = change({
      address: address('vm.a'),
      kind: 'update',
      reason: 'Its power state or node changes.',
    });
    const step = { address: moving.address, needs: [], input: {} };
    const migrate = {
      ...step,
      id: 'vm.a/migrate',
      stage: 'prepare',
      action: 'vm.migrate',
      input: { target: 'pve2' },
    } as const;
    const verify = { ...step, id: 'vm.a/verify', stage: 'configure', action: 'vm.verify' } as const;
    const stop = { ...step, id: 'vm.a/stop', stage: 'start', action: 'vm.stop' } as const;
    const plan = { ...planOf([moving]), steps: [migrate, verify, stop] };
    expect(renderPlan(plan, plainPaint).slice(2, 4)).toEqual(['    the VM moves to pve2', '    the VM is shut down']);
  });

  it('shows mappings to create before the VMs that use them, and counts them', () => {
    const map = ['id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00'];
    const mapping = pciMapStep({ mapping: 'proxwright-0000-01-00-10de-2204', map, mdev: false });
    const gpu = change({ address: address('vm.gpu'), kind: 'create', name: 'gpu', vmid: undefined, reason: 'New.' });
    const clone = vmStep(gpu.address, 'vm.clone', {} as never, { needs: [mapping.id] });
    expect(renderPlan({ ...planOf([gpu]), steps: [mapping, clone] }, plainPaint).join('\n')).toMatchInlineSnapshot(`
      "+ pci.proxwright-0000-01-00-10de-2204  create PCI mapping proxwright-0000-01-00-10de-2204
          vm.gpu names a device by its address, and no mapping exists for it.
          id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00
          stays when the VMs are deleted

      + vm.gpu  create gpu (on pve1)
          New.

      1 to create, 0 to change, 0 to delete. One PCI mapping to create."
    `);
    expect(renderPlan({ ...planOf([]), steps: [mapping] }, plainPaint).at(-1)).toContain('One PCI mapping to create.');
  });

  it('says "No changes." and lists pending restarts', () => {
    const waiting = planOf([change({ address: address('vm.a'), kind: 'none', restartPending: ['memory'] })]);
    expect(renderPlan(waiting, plainPaint)).toContain('    restart pending: memory');
    expect(renderPlan(waiting, plainPaint).at(-1)).toBe('No changes. Restart pending: vm.a (memory).');
  });

  it('has the same text in colour', () => {
    const painted = coloured(renderPlan(PLAN, paintFor({ write: () => {}, isTTY: true })).join('\n'));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
    expect(painted.replace(/\u001b\[\d+m/g, '')).toBe(renderPlan(PLAN, plainPaint).join('\n'));
    expect(painted).toContain('\u001b[32m+ vm.web[1]\u001b[39m');
  });
});

describe('a value in a plan', () => {
  it.each([
    [null, '(nothing)'],
    ['4GiB', '4GiB'],
    ['two words', '"two words"'],
    ['', '""'],
    [['a', 'b c'], '[a, "b c"]'],
    [true, 'true'],
    [{ a: 1 }, '{"a":1}'],
  ])('%j is written %s', (value, text) => {
    expect(printValue(value)).toBe(text);
  });

  it('lists each destroyed volume, the notes, and SSH keys without the key', () => {
    const key = `ssh-ed25519 ${'A'.repeat(68)}`;
    const lines = renderChange(
      change({
        address: address('vm.db'),
        kind: 'replace',
        inherited: ['scsi0: 20GiB on tank'],
        notes: ['in pool lab; the file says web, which counts only when a VM is created'],
        destroys: [
          { slot: 'scsi1', volume: 'tank:vm-401-disk-1', sizeBytes: 500 * 1024 ** 3 },
          { slot: 'unused0', volume: 'tank:vm-401-disk-2', sizeBytes: undefined },
        ],
        differences: [
          {
            path: 'cloud_init.ssh_keys',
            key: 'sshkeys',
            before: null,
            after: [`${key} admin@laptop`, `${key}BCDEFGHI`],
            by: 'file',
            effect: 'live',
          },
        ],
      }),
      plainPaint,
    );
    expect(lines.slice(2)).toEqual([
      '    cloud_init.ssh_keys  [ssh-ed25519 admin@laptop, ssh-ed25519 …BCDEFGHI]',
      '    from the template: scsi0: 20GiB on tank',
      '    in pool lab; the file says web, which counts only when a VM is created',
      '    destroys scsi1: tank:vm-401-disk-1 (500GiB)',
      '    destroys unused0: tank:vm-401-disk-2',
    ]);
  });
});

describe('a plan that makes members of a group unavailable', () => {
  const restart = (name: string, group: string) => ({
    ...vmStep(address(name), 'vm.restart', { reasons: ['memory'] }),
    outage: { group, atMost: 1, size: 3, pauseMs: 0, onFailure: 'stop' as const, again: [] },
  });
  const restarted = (name: string) => change({ address: address(name), kind: 'update', name, vmid: 1, restarts: true });

  it('says how many at a time, and nothing for a VM that is alone in its group', () => {
    const names = ['vm.control[1]', 'vm.control[2]', 'vm.control[3]', 'vm.db'];
    const steps = names.map((name) => restart(name, name.replace(/\[.*/, '')));
    const plan = { ...planOf(names.map(restarted)), steps, rolls: rollsOf(steps) };
    const lines = renderPlan(plan, plainPaint).filter((line) => line.includes('unavailable'));
    expect(lines).toEqual([
      'vm.control: 3 VMs become unavailable, 1 of 3 at a time: [1]; then [2]; then [3]. Each must be ready before the next one.',
    ]);
  });

  it('shows waves of several members, the pause, and that a failure does not stop the others', () => {
    const names = ['vm.web[1]', 'vm.web[2]', 'vm.web[3]'];
    const outage = { group: 'vm.web', atMost: 2, size: 5, pauseMs: 30_000, onFailure: 'continue' as const, again: [] };
    const steps = names.map((name) => ({ ...restart(name, 'vm.web'), outage }));
    const plan = { ...planOf(names.map(restarted)), steps, rolls: rollsOf(steps) };
    expect(renderPlan(plan, plainPaint)).toContain(
      'vm.web: 3 VMs become unavailable, 2 of 5 at a time: [1], [2]; then [3]. Each must be ready before the next one, with a pause of 30s. A member that fails does not stop the others.',
    );
  });
});

describe('the summary of a plan', () => {
  const volume = { slot: 'scsi1', volume: 'tank:vm-410-disk-1', sizeBytes: 5 * 1024 ** 3 };
  const members = [1, 2].map((number) =>
    change({ address: address(`vm.web[${number}]`), kind: 'create', name: `web-${number}`, vmid: 400 + number }),
  );
  const plan = planOf([
    ...members,
    change({ address: address('vm.web[3]'), kind: 'update', name: 'web-3', vmid: 403, restarts: true }),
    change({ address: address('vm.db'), kind: 'replace', name: 'db', vmid: 410, destroys: [volume] }),
    change({ address: address('vm.same'), kind: 'none', name: 'same', vmid: 411 }),
  ]);

  it('has one line for members of a group with the same change, and names destroyed volumes', () => {
    expect(renderSummary(plan, plainPaint)).toEqual([
      '+ vm.web  create 2: web-1 (401 on pve1), web-2 (402 on pve1)',
      '~ vm.web  change and restart 1: web-3 (403 on pve1)',
      '± vm.db  replace 1: db (410 on pve1)',
      '    destroys scsi1: tank:vm-410-disk-1 (5GiB)',
      '',
      '3 to create, 1 to change, 1 to delete.',
    ]);
  });

  it('names a large group by its first and last member, and says how many are on which node', () => {
    const first = (count: number, onto: (index: number) => Partial<Change>) => {
      const workers = Array.from({ length: count }, (_, index) =>
        change({
          address: address(`vm.worker[${index + 1}]`),
          kind: 'create',
          name: `worker-${index + 1}`,
          ...onto(index),
        }),
      );
      return renderSummary(planOf(workers), plainPaint)[0];
    };
    const summary = '+ vm.worker  create';
    expect(first(60, (index) => ({ vmid: index < 10 ? 101 + index : 201 + index }))).toBe(
      `${summary} 60: worker-1 … worker-60 (101–110, 211–260 on pve1)`,
    );
    // A placement that spreads a group hands out its IDs in turn: no node has a range of its own.
    expect(first(247, (index) => ({ vmid: 2001 + index, node: `pve${3 - (index % 3)}` }))).toBe(
      `${summary} 247: worker-1 … worker-247 (2001–2247; 82 on pve1, 82 on pve2, 83 on pve3)`,
    );
    expect(first(30, (index) => ({ vmid: 101 + 2 * index, node: `pve${index % 10}` }))).toBe(
      `${summary} 30: worker-1 … worker-30 (101 … 159 on 10 nodes)`,
    );
  });

  it('fits the terminal, and so does the whole plan', () => {
    const narrow = paintFor({ isTTY: true, columns: 40, write: () => true });
    const fits = (lines: readonly string[]) => lines.every((line) => visibleWidth(line) <= 40);
    expect(fits(renderSummary(plan, narrow))).toBe(true);
    // What continues below is further in than its line, also where the line has a colour.
    const [, ...below] = fitLines([narrow('dim', `    ${'words '.repeat(20)}`)], narrow);
    expect(below.length).toBeGreaterThan(1);
    expect(below.filter((line) => !line.startsWith('        '))).toEqual([]);
    expect(renderPlan(PLAN, narrow).filter((line) => visibleWidth(line) > 40)).toEqual([]);
    expect(renderSummary(plan, narrow).join(' ').replaceAll(/ +/g, ' ')).toContain('web-2 (402 on pve1)');
  });
});
