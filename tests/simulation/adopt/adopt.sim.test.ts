/** Running VMs become a stack: nothing is written to them, the plan is empty, and the file is one that a person might write. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../../src/base/address.ts';
import { isEmpty } from '../../../src/kinds/change.ts';
import type { ResolvedStack } from '../../../src/kinds/stack.ts';
import type { Adoption } from '../../../src/kinds/vm/adopt/adopt.ts';
import { violationsOf } from '../../../src/kinds/vm/rules/index.ts';
import { bareVm } from '../../../src/kinds/vm/stack.ts';
import { vmFieldsArbitrary } from '../../../src/kinds/vm/testing/arbitrary-vm.ts';
import { MemoryStore } from '../../../src/state/memory-store.ts';
import { byDepth } from '../../support/depth.ts';
import { driftWorld, VM_SITES } from '../engine/support/drift-world.ts';
import { BY_HAND, StackScene, stackOf } from '../support/stack-scene.ts';
import { Newcomer } from './support/newcomer.ts';

const vmsPart = (text = '') => text.slice(text.indexOf('\nvms:') + 1);

const ESTATE = `
defaults:
  ownership: off
  clone: { template: ubuntu-24.04 }
vms:
  web:
    count: 3
    name: web-$\{number}
    node: pve1
    vmids: 401-403
    memory: 2GiB
    disks: { scsi0: { size: 10GiB } }
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.10.0.11-10.10.0.13/24, gateway: 10.10.0.1 } } }
    power: stopped
    overrides: { 2: { memory: 3GiB } }
  db:
    name: db
    node: pve1
    vmid: 500
    clone: { template: ubuntu-24.04, mode: linked }
    memory: 2GiB
    power: stopped
    tags: [db, prod]
`;

describe('adopted VMs', () => {
  it('are a file with groups, ranges and overrides; nothing is written to them, and the plan is empty', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(stackOf(ESTATE));
      const newcomer = new Newcomer(lab);
      lab.requests.length = 0;
      const adoption = await newcomer.adopt();
      expect(lab.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
      expect(adoption).toMatchObject({ unfit: new Map() });
      expect(vmsPart(newcomer.text)).toBe(`vms:
  web:
    count: 3
    name: web-$\{number}
    vmids: 401-403
    disks: { scsi0: { size: 10GiB } }
    nics: { net0: { ipv4: { addresses: 10.10.0.11-10.10.0.13/24, gateway: 10.10.0.1 } } }
    overrides: { 2: { memory: 3GiB } }

  db:
    name: db
    vmid: 500
    tags: [ db, prod ]
    nics: { net0: { ipv4: dhcp } }
`);
      expect(isEmpty(await lab.plan(newcomer.stack))).toBe(true);
    });
  });

  it('are found again by a second run, which has nothing to do', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(stackOf(ESTATE));
      const newcomer = new Newcomer(lab);
      await newcomer.adopt();
      const before = newcomer.text;
      expect(await newcomer.adopt()).toMatchObject({ taken: [], known: 4 });
      expect(newcomer.text).toBe(before);
    });
  });

  it('become the next member of their group, or a new group, if they appeared since; comments stay', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(stackOf(ESTATE));
      const newcomer = new Newcomer(lab);
      await newcomer.adopt();
      newcomer.text = newcomer.text?.replace('  web:\n', '  # The ones that people see.\n  web:\n');
      const more = ESTATE.replace('count: 3', 'count: 4')
        .replace('401-403', '401-404')
        .replace('10.10.0.13/24', '10.10.0.14/24')
        .concat('  cache: { name: cache, node: pve2, vmid: 600, power: stopped }\n');
      const other = new MemoryStore();
      const own = lab.store;
      lab.store = other;
      await lab.apply(onlyNew(more));
      lab.store = own;
      const { places } = (await newcomer.adopt()) as Adoption;
      expect(places.map(({ address }) => address)).toEqual(['vm.web[4]', 'vm.cache']);
      expect(newcomer.text).toContain('# The ones that people see.');
      expect(newcomer.text).toContain('vmids: 401-404');
      expect(newcomer.text).toContain('10.10.0.11-10.10.0.14/24');
      // What the defaults say is not said again.
      expect(newcomer.text).not.toMatch(/\n {2}cache:\n(?: {4}.*\n)* {4}power:/);
      expect(isEmpty(await lab.plan(newcomer.stack))).toBe(true);
    });
  });

  it('join a file whose VMs have ownership lines without getting one', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const own = stackOf(ESTATE.replace('ownership: off', 'ownership: line'));
      await lab.apply(own);
      await lab.makeByHand(150);
      await lab.makeByHand(151, { ...BY_HAND, name: 'other', ipconfig0: 'ip=10.0.30.6/24,gw=10.0.30.1' });
      const { store } = lab;
      const newcomer = new Newcomer(lab);
      lab.store = store;
      newcomer.text = `version: 1\nstack: lab\n${ESTATE.replace('ownership: off', 'ownership: line').trimStart()}`;
      lab.requests.length = 0;
      const { places } = (await newcomer.adopt()) as Adoption;
      expect(places.map(({ address }) => address)).toEqual(['vm.web-2', 'vm.other']);
      expect(lab.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
      expect(isEmpty(await lab.plan(newcomer.stack))).toBe(true);
    });
  });

  it('are only those that were chosen; templates, containers and VMs of another stack stay, with the reason', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(stackOf(ESTATE.replace('ownership: off', 'ownership: line')));
      await lab.makeByHand(150);
      const newcomer = new Newcomer(lab);
      const { survey, places } = (await newcomer.adopt({ ids: [[100, 9999]] })) as Adoption;
      expect(places.map(({ vm }) => vm.vmid)).toEqual([150]);
      const kinds = survey.left.map(({ why }) => why.replace(/vm\.\S+/, 'VM').split(':')[0]);
      expect(new Set(kinds)).toEqual(new Set(['its notes say that it is VM of this stack', 'a template']));
      expect(await new Newcomer(lab).adopt({ tags: ['prod'], names: ['d?'] })).toMatchObject({ taken: [] });
      const chosen = (await new Newcomer(lab).adopt({ tags: ['prod'], names: ['w*'] })) as Adoption;
      expect(chosen.places.map(({ vm }) => vm.vmid)).toEqual([150]);
    });
  });

  it('have an empty plan whatever their shape, and nothing is written to them', async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= byDepth(1, 1, 40); seed++) {
      const lab = new StackScene([], driftWorld);
      await lab.run(async () => {
        const drawn = VM_SITES.flatMap((site, place) =>
          fc.sample(vmFieldsArbitrary(site), { numRuns: 4, seed: seed * 100 + place }),
        );
        const vms = drawn.flatMap((fields, index) => {
          // Nothing secret can be read back, and nothing is read of the files of a guest.
          const { cloud_init: told, ...rest } = fields;
          const { password: _, user_data: __, network_data: ___, ...cloudInit } = told ?? {};
          const name = `${['web', 'db', 'odd'][index % 3]}-${Math.floor(index / 3) + 1}`;
          const vm = bareVm(vmAddress(name), {
            ...rest,
            ...(told && { cloud_init: cloudInit }),
            name,
            vmid: 700 + index,
            power: 'stopped',
            ownership: 'off',
          });
          return violationsOf(vm).length === 0 ? [vm] : [];
        });
        const made: ResolvedStack = { ...stackOf('vms: {}'), vms };
        await lab.apply(made);
        const newcomer = new Newcomer(lab);
        lab.requests.length = 0;
        const { unfit } = (await newcomer.adopt({ ids: [[700, 799]] })) as Adoption;
        const writes = lab.requests.filter((line) => !line.startsWith('GET '));
        const plan = await lab.plan(newcomer.stack);
        if (writes.length > 0 || unfit.size > 0 || !isEmpty(plan)) {
          const shown = plan.changes.flatMap(({ address, differences }) =>
            differences.map(({ path }) => `${address} ${path}`),
          );
          failures.push(`seed ${seed}: ${writes} ${JSON.stringify([...unfit])} ${shown}\n${newcomer.text}`);
        }
      });
    }
    expect(failures).toEqual([]);
  });
});

/** The VMs that the first estate does not have. */
function onlyNew(text: string): ResolvedStack {
  const stack = stackOf(text);
  return { ...stack, vms: stack.vms.filter(({ fields }) => ['web-4', 'cache'].includes(fields.name)) };
}
