import { describe, expect, it } from 'vitest';
import { replaceState } from '../../src/engine/state-edit.ts';
import { compareWithCluster, recoverState } from '../../src/engine/take-over.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { emptyState, type StackState } from '../../src/kinds/recorded.ts';
import { StackScene, stackOf } from './support/stack-scene.ts';

const STACK = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { count: 2, name: "web-\${number}", vmids: 401-409, memory: 4GiB }
`);

const RUNNING_TEXT = `
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, guest: cloud-init }
vms:
  web: { count: 2, name: "web-\${number}", vmids: 401-409 }
`;
const RUNNING = stackOf(RUNNING_TEXT);

async function applied(): Promise<StackScene> {
  const lab = new StackScene();
  await lab.run(() => lab.apply(STACK));
  return lab;
}

async function writeNotes(lab: StackScene, vmid: number, description: string): Promise<void> {
  await lab.pve.node('pve1').vm(vmid).config.put({ description });
}

describe('recovering a state from the cluster', () => {
  it('rebuilds a lost state so that the plan is empty again', async () => {
    const lab = await applied();
    const before = await lab.state();
    await lab.run(async () => {
      await lab.store.remove('state.json');
      const recovery = await recoverState({ pve: lab.pve, clock: lab.clock, stack: STACK, state: emptyState('lab') });
      expect(recovery).toMatchObject({ found: ['vm.web[1]', 'vm.web[2]'], notFound: [], remarks: [] });
      await replaceState(lab.deps('state recover'), recovery.state);
      expect(isEmpty(await lab.plan(STACK))).toBe(true);
    });
    const { vms } = await lab.state();
    for (const [address, vm] of Object.entries(before.vms)) {
      const { vmid, uuid, node, name, macs, lastApplied } = vm;
      expect(vms[address]).toMatchObject({ vmid, uuid, node, name, macs, lastApplied, phase: 'complete' });
    }
  });

  it('learns the addresses that running guests report, and MACs', async () => {
    const lab = new StackScene();
    await lab.run(() => lab.apply(RUNNING));
    const before = await lab.state();
    expect(before.vms['vm.web[1]']?.addresses.net0?.[0]).toMatch(/^10\./);
    const { state, remarks } = await lab.run(() =>
      recoverState({ pve: lab.pve, clock: lab.clock, stack: RUNNING, state: emptyState('lab') }),
    );
    expect(remarks).toEqual([]);
    for (const [address, { addresses, macs }] of Object.entries(before.vms)) {
      expect(state.vms[address]).toMatchObject({ addresses, macs });
    }
  });

  it('does not wait for a silent agent, says which address is unknown, and learns it another time', async () => {
    const lab = new StackScene([
      { kind: 'agent-silent', match: { path: 'agent/network-get-interfaces' }, at: 1, times: 2, for_ms: 600_000 },
    ]);
    // These guests have no readiness checks, so that the first question is ours.
    const unasked = stackOf(RUNNING_TEXT.replace('cloud-init', 'plain'));
    await lab.run(async () => {
      await lab.apply(unasked);
      await lab.clock.sleep(120_000);
      const recover = (state: StackState) => recoverState({ pve: lab.pve, clock: lab.clock, stack: unasked, state });
      const startedAt = lab.clock.now();
      const first = await recover(emptyState('lab'));
      expect(lab.clock.now() - startedAt).toBeLessThan(10_000);
      expect(first.found).toEqual(['vm.web[1]', 'vm.web[2]']);
      expect(first.state.vms['vm.web[1]']?.addresses).toEqual({});
      expect(first.remarks[0]).toMatch(
        /^vm\.web\[1\]: no address is known on net0: its guest agent did not answer within 5 seconds\. .*proxwright state recover/,
      );
      await lab.clock.sleep(900_000);
      const second = await recover(first.state);
      expect(second).toMatchObject({ found: [], learned: ['vm.web[1]', 'vm.web[2]'], remarks: [] });
      expect(second.state.vms['vm.web[1]']?.addresses.net0?.[0]).toMatch(/^10\./);
    });
  });

  it('takes static addresses from the file, and those of a VM that left it from its configuration', async () => {
    const lab = new StackScene();
    const fixed = (memory: string) =>
      stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
${memory}
`);
    const nic = (last: number) => `nics: { net0: { ipv4: { address: 10.0.20.${last}/24, gateway: 10.0.20.1 } } }`;
    const both = fixed(`  web: { name: web, ${nic(5)} }\n  db: { name: db, ${nic(6)} }`);
    await lab.run(async () => {
      await lab.apply(both);
      const onlyWeb = fixed(`  web: { name: web, ${nic(5)} }`);
      const input = { pve: lab.pve, clock: lab.clock, stack: onlyWeb, state: emptyState('lab') };
      const { state } = await recoverState(input);
      expect(state.vms['vm.web']?.addresses).toEqual({ net0: ['10.0.20.5'] });
      expect(state.vms['vm.db']?.addresses).toEqual({ net0: ['10.0.20.6'] });
    });
  });

  it('recovers which VMs the HA manager manages', async () => {
    const lab = new StackScene();
    const available = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 } }
vms:
  web: { name: web, ha: { state: started, max_restart: 2 } }
`);
    await lab.run(async () => {
      await lab.apply(available);
      const input = { pve: lab.pve, clock: lab.clock, stack: available, state: emptyState('lab') };
      await replaceState(lab.deps('state recover'), (await recoverState(input)).state);
      expect(isEmpty(await lab.plan(available))).toBe(true);
    });
  });

  it('recovers the mapping of a device, so that the plan is empty', async () => {
    const lab = new StackScene();
    const gpu = stackOf(`
vms:
  gpu: { name: gpu, node: pve1, machine: q35, clone: { template: ubuntu-24.04 }, power: stopped, pci: { hostpci0: { device: '0000:01:00', pcie: true } } }
`);
    await lab.run(async () => {
      await lab.apply(gpu);
      expect(lab.config(100).get('hostpci0') ?? '').toMatch(/^mapping=/);
      const input = { pve: lab.pve, clock: lab.clock, stack: gpu, state: emptyState('lab') };
      await replaceState(lab.deps('state recover'), (await recoverState(input)).state);
      expect(isEmpty(await lab.plan(gpu))).toBe(true);
    });
  });

  it('does not accept a line that a clone copied', async () => {
    const lab = await applied();
    await lab.run(async () => {
      const { pve } = lab;
      await pve.tasks.wait(await pve.node('pve1').vm(401).clone({ newid: 500, name: 'copy', full: true }));
      const { found, remarks, state } = await recoverState({
        pve,
        clock: lab.clock,
        stack: STACK,
        state: emptyState('lab'),
      });
      expect(found).toEqual(['vm.web[1]', 'vm.web[2]']);
      expect(state.vms['vm.web[1]']?.vmid).toBe(401);
      expect(remarks).toHaveLength(1);
      expect(remarks[0]).toMatch(/^VM 500 has an ownership line of vm\.web\[1\] that was written for VM 401/);
    });
  });

  it('accepts neither of two VMs that claim the same address', async () => {
    const lab = await applied();
    const uuid = /uuid=([^,]+)/.exec(lab.config(402).get('smbios1') ?? '')?.[1];
    await lab.run(async () => {
      await writeNotes(lab, 402, `proxwright: stack=lab address=vm.web[1] vmid=402 uuid=${uuid}`);
      const { found, remarks } = await recoverState({
        pve: lab.pve,
        clock: lab.clock,
        stack: STACK,
        state: emptyState('lab'),
      });
      expect(found).toEqual([]);
      expect(remarks).toEqual([expect.stringContaining('VMs 401 and 402 all claim to be vm.web[1]')]);
    });
  });

  it('keeps what is still known, and says which VMs stand in no line', async () => {
    const lab = await applied();
    const state = await lab.state();
    await lab.run(async () => {
      await writeNotes(lab, 402, '');
      const recovery = await recoverState({ pve: lab.pve, clock: lab.clock, stack: STACK, state });
      expect(recovery).toMatchObject({ found: [], notFound: ['vm.web[2]'], state });
    });
  });

  it('takes an unfinished VM as unfinished, and leaves other stacks alone', async () => {
    const lab = await applied();
    const uuid = /uuid=([^,]+)/.exec(lab.config(401).get('smbios1') ?? '')?.[1];
    await lab.run(async () => {
      await writeNotes(lab, 401, `proxwright: stack=lab address=vm.web[1] vmid=401 uuid=${uuid} state=incomplete`);
      await writeNotes(lab, 402, 'proxwright: stack=prod address=vm.web[2] vmid=402 uuid=x');
      const { state, remarks } = await recoverState({
        pve: lab.pve,
        clock: lab.clock,
        stack: STACK,
        state: emptyState('lab'),
      });
      expect(Object.entries(state.vms).map(([address, { phase }]) => [address, phase])).toEqual([
        ['vm.web[1]', 'incomplete'],
      ]);
      expect(remarks).toEqual([]);
    });
  });
});

describe('comparing a state with the cluster', () => {
  it('tells the same VM, one that is gone, and another one under the same id apart', async () => {
    const lab = await applied();
    const state = await lab.state();
    const second = state.vms['vm.web[2]'];
    if (!second) throw new Error('the second VM is missing');
    const old = {
      ...state,
      vms: { ...state.vms, 'vm.web[2]': { ...second, uuid: 'other' }, 'vm.db': { ...second, vmid: 777 } },
    };
    const standings = await lab.run(() => compareWithCluster({ pve: lab.pve }, old));
    expect(standings.map(({ address, standing, node }) => [address, standing, node])).toEqual(
      [
        ['vm.db', 'gone', undefined],
        ['vm.web[1]', 'same', 'pve1'],
        ['vm.web[2]', 'another', 'pve1'],
      ].sort(([a], [b]) => Object.keys(old.vms).indexOf(a ?? '') - Object.keys(old.vms).indexOf(b ?? '')),
    );
  });
});
