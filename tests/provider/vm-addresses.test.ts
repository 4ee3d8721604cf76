/** Static addresses through the provider: a plan compares them with other VMs of the cluster and of the configuration. */
import { describe, expect, it } from 'vitest';
import { codes, SMALL, withMade } from './support/small-vms.ts';
import { ToyHost } from './support/toy-host.ts';

const at = (name: string, address: string) => ({
  ...SMALL,
  name,
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: `${address}/24` } } },
});

describe('the plan of a VM with a static address', () => {
  it('is refused while a VM outside the configuration has it', async () => {
    await withMade(at('web', '10.0.0.9'), async (_bench, next) => {
      const stranger = new ToyHost(next().resource);
      const { diagnostics } = await stranger.plan(at('other', '10.0.0.9'));
      expect(codes(diagnostics)).toEqual(['ADDRESS_TAKEN']);
      expect(diagnostics[0]?.detail).toMatch(/10\.0\.0\.9 of .*other.* is already the address of VM \d+ \(web\)/);
    });
  });

  it('is refused where another resource of the run has it, whichever is planned first', async () => {
    await withMade(at('web', '10.0.0.9'), async (_bench, next) => {
      const { host, resource } = next();
      await host.refresh();
      const second = new ToyHost(resource);
      expect((await second.plan(at('other', '10.0.0.9'))).diagnostics).toEqual([]);
      expect(codes((await host.plan(at('web', '10.0.0.9'))).diagnostics)).toEqual(['ADDRESS_TAKEN']);
      expect(codes((await second.plan(at('other', '10.0.0.9'))).diagnostics)).toEqual(['ADDRESS_TAKEN']);
    });
  });

  it('may take over the address of a VM that gets another one or goes in the same run', async () => {
    await withMade(at('web', '10.0.0.9'), async (_bench, next) => {
      const { host, resource } = next();
      await host.refresh();
      const second = new ToyHost(resource);
      expect(codes((await host.plan(at('web', '10.0.0.10'))).diagnostics)).toEqual([]);
      expect((await second.plan(at('other', '10.0.0.9'))).diagnostics).toEqual([]);
      await host.plan(null);
      expect((await second.plan(at('other', '10.0.0.10'))).diagnostics).toEqual([]);
    });
  });
});
