/** Custom cloud-init files through the provider: created, replaced, restored, removed, and never left behind. */
import { expect, it } from 'vitest';
import { make, SMALL, told } from './support/small-vms.ts';
import { type Config, ToyHost } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';
import { watched } from './support/watched.ts';

const FIRST = '#cloud-config\nfinal_message: correct horse battery staple\n';
const SECOND = '#cloud-config\nfinal_message: troubadour and three\n';

function configOf(address = '10.0.20.31/24'): Config {
  return {
    ...SMALL,
    guest: 'cloud-init',
    ready: { agent: false },
    stop_on_destroy: true,
    nics: { net0: { ipv4: { address, gateway: '10.0.20.1' } } },
    cloud_init: { storage: 'local', user_data: { env: 'DOCUMENT' } },
  };
}

class Story {
  readonly bench = new VmBench();
  readonly kept: string[] = [];
  #instance: ToyHost['instance'];

  /** A process of its own for each command, as a host has it. */
  async command<Result>(work: (host: ToyHost) => Promise<Result>): Promise<Result> {
    const { resource, kept } = watched(this.bench.process().resource);
    const host = new ToyHost(resource);
    host.instance = this.#instance;
    const result = await work(host);
    this.#instance = host.instance;
    this.kept.push(...kept);
    return result;
  }

  medium(): string {
    const { current, pending } = this.bench.vm('web').config;
    return (pending.get('ide2') ?? current.get('ide2') ?? '').split(',')[0] ?? '';
  }

  async volumes(): Promise<string[]> {
    const listed = await this.bench.outside().node('pve1').storage('local').content.list({ content: 'iso' });
    return listed.map(({ volid }) => volid).filter((volid) => volid.includes('proxwright-'));
  }
}

it('are configured, unchanged, updated, restored and removed', async () => {
  const story = new Story();
  const { bench } = story;
  await bench.run(async () => {
    bench.secrets.DOCUMENT = FIRST;
    await story.command((host) => make(host, configOf()));
    const first = story.medium();
    expect(first).toMatch(/^local:iso\/proxwright-web-[0-9a-f]{16}\.iso$/);
    expect(await story.volumes()).toEqual([first]);
    const again = await story.command(async (host) => [await host.refresh(), await host.plan(configOf())]);
    expect(again).toEqual([[], { action: 'none', changed: [], diagnostics: [] }]);

    bench.secrets.DOCUMENT = SECOND;
    const renewed = await story.command((host) => host.apply(configOf()));
    expect(renewed).toMatchObject({ action: 'update' });
    const second = story.medium();
    expect(second).not.toBe(first);
    expect(await story.volumes()).toEqual([second]);

    const moved = await story.command((host) => host.apply(configOf('10.0.20.32/24')));
    expect(moved).toMatchObject({ action: 'update', changed: expect.arrayContaining(['nics.net0.ipv4.address']) });
    const third = story.medium();
    expect(await story.volumes()).toEqual([third]);
    expect(third).not.toBe(second);

    await bench.outside().node('pve1').vm(bench.vm('web').vmid).config.put({ ide2: 'none,media=cdrom' });
    const drifted = await story.command(async (host) => {
      await host.refresh();
      return host.plan(configOf('10.0.20.32/24'));
    });
    expect(drifted).toMatchObject({ action: 'update' });
    await story.command((host) => host.apply(configOf('10.0.20.32/24')));
    expect(story.medium()).toBe(third);
    const calm = await story.command(async (host) => {
      await host.refresh();
      return host.plan(configOf('10.0.20.32/24'));
    });
    expect(calm.action).toBe('none');

    await story.command((host) => host.apply(null));
    expect(await story.volumes()).toEqual([]);
  });
  for (const text of [...story.kept, ...bench.logs]) {
    expect(text).not.toContain('correct horse');
    expect(text).not.toContain('troubadour');
  }
});

it('are removed with the VM that a replacement destroys', async () => {
  const story = new Story();
  const { bench } = story;
  await bench.run(async () => {
    bench.secrets.DOCUMENT = FIRST;
    await story.command((host) => make(host, { ...configOf(), vmid: 610 }));
    const first = story.medium();
    bench.secrets.DOCUMENT = SECOND;
    const replaced = await story.command((host) => host.apply({ ...configOf(), vmid: 611 }));
    expect(replaced).toMatchObject({ action: 'replace' });
    expect(story.medium()).not.toBe(first);
    expect(await story.volumes()).toEqual([story.medium()]);
  });
});

it('are refused if their guest would ignore them', async () => {
  const story = new Story();
  await story.bench.run(async () => {
    story.bench.secrets.DOCUMENT = 'hello\n';
    const { diagnostics } = await story.command((host) => host.apply(configOf()));
    expect(diagnostics.map(told)).toEqual([
      'error cloud_init: cloud-init ignores user-data whose first line does not say what it is, for example "#cloud-config" or "#!/bin/sh".',
    ]);
    expect(await story.volumes()).toEqual([]);
  });
});
