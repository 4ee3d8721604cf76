/** A VM that another provider made, taken over: what that provider left, and what the first apply sends. */
import { describe, expect, it } from 'vitest';
import { codes } from './support/small-vms.ts';
import type { Config, ToyHost } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const CONFIG: Config = { name: 'web', node: 'pve1', guest: 'cloud-init', clone: { template: 'ubuntu-24.04' } };
const BPG = 'proxmox_virtual_environment_vm';

/** VM 450 as another client made it, off unless told; `story` gets a host that has it in its state. */
async function withForeign(
  source: { readonly type: string; readonly state: object },
  story: (bench: VmBench, host: ToyHost) => Promise<void>,
): Promise<void> {
  const bench = new VmBench();
  await bench.run(async () => {
    const pve = bench.outside();
    await pve.tasks.wait(await pve.node('pve1').vm(9000).clone({ newid: 450, name: 'web' }));
    await pve.node('pve1').vm(450).config.put({ cipassword: 'first one' });
    bench.requests.length = 0;
    const { host, resource } = bench.process();
    const moved = await resource.move?.({
      sourceProvider: 'registry.terraform.io/some/proxmox',
      sourceType: source.type,
      sourceVersion: 0,
      sourceState: source.state,
    });
    if (!moved?.state) throw new Error('nothing was moved');
    host.instance = { state: moved.state, private: moved.private };
    await story(bench, host);
  });
}

const bpg = (password?: string) => ({
  type: BPG,
  state: { vm_id: 450, ...(password !== undefined && { initialization: [{ user_account: [{ password }] }] }) },
});
const withPassword = (password: string): Config => ({ ...CONFIG, cloud_init: { password_wo: password } });

describe('the first apply of a moved VM', () => {
  it('writes nothing if only attributes change that no VM has, and leaves it off', async () => {
    await withForeign(bpg(), async (bench, host) => {
      const config = { ...CONFIG, stop_on_destroy: true };
      const first = await host.apply(config);
      expect([first.action, codes(first.diagnostics)]).toEqual(['update', []]);
      expect(bench.writes()).toEqual([]);
      expect(host.state).toMatchObject({ status: 'stopped', stop_on_destroy: true });
      expect((await host.plan(config)).action).toBe('none');
    });
  });

  it('writes the ownership line together with a change', async () => {
    await withForeign(bpg(), async (bench, host) => {
      await host.apply({ ...CONFIG, tags: ['a'] });
      const config = bench.simulator.runtime.world.vms.get(450)?.config.current;
      expect(config?.get('description')).toContain('proxwright: stack=');
      expect(bench.writes().filter((line) => line.startsWith('POST') && line.includes('start'))).toEqual([]);
    });
  });

  it.each([
    ['whose state has it', bpg('first one')],
    ['whose state has stars', bpg('**********')],
    ['of Telmate', { type: 'proxmox_vm_qemu', state: { vmid: 450, cipassword: 'first one' } }],
  ])('does not send the password again, from a provider %s', async (_, source) => {
    await withForeign(source, async (bench, host) => {
      const first = await host.apply({ ...withPassword('first one'), stop_on_destroy: true });
      expect([first.action, codes(first.diagnostics)]).toEqual(['update', []]);
      expect(bench.writes()).toEqual([]);
      expect((await host.plan({ ...withPassword('first one'), stop_on_destroy: true })).action).toBe('none');
      await host.apply({ ...withPassword('second one'), stop_on_destroy: true });
      expect(bench.writes()).not.toEqual([]);
    });
  });

  it.each([
    ['another one', bpg('first one'), 'second one'],
    ['one that the former provider has not set', bpg(), 'first one'],
  ])('sends a password that is %s', async (_, source, password) => {
    await withForeign(source, async (bench, host) => {
      expect((await host.apply(withPassword(password))).action).toBe('update');
      expect(bench.writes()).not.toEqual([]);
    });
  });

  it('keeps no password in the state of the host', async () => {
    await withForeign(bpg('first one'), async (_, host) => {
      expect(JSON.stringify([host.state, Buffer.from(host.instance?.private ?? '').toString()])).not.toContain(
        'first one',
      );
      await host.refresh();
      expect(JSON.stringify([host.state, Buffer.from(host.instance?.private ?? '').toString()])).not.toContain(
        'first one',
      );
    });
  });
});
