import { describe, expect, it } from 'vitest';
import { UNKNOWN } from '../../src/provider/cty/value.ts';
import { WELL_KNOWN_URLS } from '../../src/simulator/index.ts';
import { BASE, BareBench, emptied, NOBLE, NOBLE_SHA256 } from './support/bare-bench.ts';
import { codes, told } from './support/small-vms.ts';
import { type Config, hasErrors, type ToyHost } from './support/toy-host.ts';

const EMPTY_PLAN = { action: 'none', changed: [], diagnostics: [] };
const BIGGER: Config = { ...BASE, memory: '4GiB' };

async function ok(host: ToyHost, config: Config | null) {
  const outcome = await host.apply(config);
  expect(outcome.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return outcome;
}

/** One VM exists, so that the token sees one. */
async function plantStranger(bench: BareBench): Promise<void> {
  const pve = bench.outside();
  await pve.tasks.wait(await pve.node('vmhost').vms.create({ vmid: 300, name: 'stranger', memory: 512 }));
  await bench.clock.sleep(30_000);
}

/** On a host that has the image. */
async function onBench(story: (bench: BareBench) => Promise<void>): Promise<void> {
  const bench = new BareBench();
  await bench.run(async () => {
    await ok(bench.hosts().images, NOBLE);
    await story(bench);
  });
}

describe('a template of Terraform', () => {
  it('is made from an image, and then nothing is left to do', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      expect(await templates.validate(BASE)).toEqual([]);
      expect(await templates.plan(BASE)).toMatchObject({ action: 'create', diagnostics: [] });
      expect((await templates.apply(BASE)).diagnostics).toEqual([]);
      const { vmid, id } = templates.state;
      expect(bench.guests()).toEqual([`${String(vmid)} ubuntu-base (template)`]);
      expect(id).toBe(`vmhost/${String(vmid)}`);
      const later = bench.hosts({ template: templates.instance }).templates;
      expect(await later.plan(BASE)).toEqual(EMPTY_PLAN);
      expect((await later.apply(null)).diagnostics).toEqual([]);
      expect(emptied(bench.world)).toHaveLength(1);
    }));

  it('gets a new version beside the old one when its recipe changes, and both go in the end', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const before = templates.state;
      const next = bench.hosts({ template: templates.instance }).templates;
      const plan = await next.plan(BIGGER);
      expect([plan.action, plan.diagnostics]).toEqual(['update', []]);
      expect(plan.changed).toEqual(expect.arrayContaining(['memory', 'vmid', 'id', 'uuid', 'recipe']));
      await ok(next, BIGGER);
      expect(next.state.vmid).not.toBe(before.vmid);
      expect(bench.guests().sort()).toEqual(
        [
          `${String(before.vmid)} ubuntu-base-retired-${String(before.vmid)} (template)`,
          `${String(next.state.vmid)} ubuntu-base (template)`,
        ].sort(),
      );
      const third = bench.hosts({ template: next.instance }).templates;
      expect(await third.plan(BIGGER)).toEqual(EMPTY_PLAN);
      expect((await third.apply(null)).diagnostics).toEqual([]);
      expect(bench.guests()).toEqual([]);
    }));

  it('is not rebuilt for another time limit, and is rebuilt for other content', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, { ...BASE, triggers: { image: NOBLE_SHA256 } });
      const before = templates.state.vmid;
      const slower = { ...BASE, triggers: { image: NOBLE_SHA256 }, timeouts: { clone: '2h' } };
      expect((await ok(templates, slower)).changed).toEqual(['timeouts']);
      expect(templates.state.vmid).toBe(before);
      await ok(templates, { ...slower, triggers: { image: 'another' } });
      expect(templates.state.vmid).not.toBe(before);
    }));

  it('keeps an earlier version that a linked clone rests on, and says so', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const first = Number(templates.state.vmid);
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('vmhost').vm(first).clone({ newid: 501, name: 'linked' }));
      await ok(templates, BIGGER);
      const second = Number(templates.state.vmid);
      const gone = await ok(templates, null);
      expect(gone.diagnostics.map(({ summary }) => summary)).toEqual(['An earlier version of the template stays']);
      expect(bench.world.vms.has(first)).toBe(true);
      expect(bench.world.vms.has(second)).toBe(false);
    }));

  it('is not destroyed while a linked clone uses it', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const vmid = Number(templates.state.vmid);
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('vmhost').vm(vmid).clone({ newid: 501, name: 'linked' }));
      const refused = await templates.apply(null);
      expect(refused.diagnostics.map(({ detail }) => detail).join()).toContain('still in use by linked clone');
      expect(templates.state.vmid).toBe(vmid);
    }));

  it('is replaced under the same id if its id is fixed and its recipe changes', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, { ...BASE, vmid: 9000 });
      const next = bench.hosts({ template: templates.instance }).templates;
      const plan = await next.plan({ ...BIGGER, vmid: 9000 });
      expect(plan.action).toBe('replace');
      expect(plan.diagnostics.map(({ summary }) => summary)).toEqual(['This template will be replaced']);
      await ok(next, { ...BIGGER, vmid: 9000 });
      expect(bench.guests()).toEqual(['9000 ubuntu-base (template)']);
      expect(await bench.hosts({ template: next.instance }).templates.plan({ ...BIGGER, vmid: 9000 })).toEqual(
        EMPTY_PLAN,
      );
    }));

  it('takes the ids of a range, one for each version', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, { ...BASE, vmids: '9000-9009' });
      expect(templates.state.vmid).toBe(9000);
      await ok(templates, { ...BIGGER, vmids: '9000-9009' });
      expect(templates.state.vmid).toBe(9001);
    }));

  it('is rebuilt beside the old version after a change outside Terraform', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const before = Number(templates.state.vmid);
      await bench.outside().node('vmhost').vm(before).config.put({ memory: '512', name: 'mine' });
      const later = bench.hosts({ template: templates.instance }).templates;
      const plan = await later.plan(BASE);
      expect(plan.action).toBe('update');
      expect(plan.changed).toEqual(expect.arrayContaining(['memory', 'vmid', 'recipe']));
      await ok(later, BASE);
      expect(later.state.vmid).not.toBe(before);
      expect(await bench.hosts({ template: later.instance }).templates.plan(BASE)).toEqual(EMPTY_PLAN);
    }));

  it('is built again after it was deleted outside Terraform', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('vmhost').vm(Number(templates.state.vmid)).destroy({}));
      expect((await ok(bench.hosts({ template: templates.instance }).templates, BASE)).action).toBe('create');
      expect(bench.guests()).toHaveLength(1);
    }));

  it('is taken over by its id, and a configuration that is true of it changes nothing there', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const { vmid, recipe } = templates.state;
      const { templates: later } = bench.hosts();
      expect(await later.import(`vmhost/${String(vmid)}`)).toEqual([]);
      expect(later.state.recipe).toBe(recipe);
      await ok(later, BASE);
      expect(later.state.vmid).toBe(vmid);
      expect(await later.plan(BASE)).toEqual(EMPTY_PLAN);
      expect(bench.guests()).toHaveLength(1);
    }));

  it('is imported as it is if it was created by hand, and rebuilt if it differs', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const vmid = Number(templates.state.vmid);
      await bench.outside().node('vmhost').vm(vmid).config.put({ description: '' });
      const { templates: later } = bench.hosts();
      expect(await later.import(String(vmid))).toEqual([]);
      expect(later.state.recipe).toBeNull();
      expect((await later.plan(BIGGER)).changed).toContain('vmid');
      await ok(later, BASE);
      expect(later.state.vmid).toBe(vmid);
      expect(await later.plan(BASE)).toEqual(EMPTY_PLAN);
    }));

  it('installs itself from an ISO, and keeps nothing of it', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images, templates } = bench.hosts();
      await ok(images, {
        node: 'vmhost',
        url: WELL_KNOWN_URLS.preseededIsoGz,
        storage: 'local',
        content: 'iso',
        file: 'debian.iso',
      });
      const config: Config = {
        name: 'debian-base',
        node: 'vmhost',
        guest: 'plain',
        memory: '2GiB',
        disks: { scsi0: { storage: 'tank', size: '10GiB' }, ide2: { iso: images.state.id } },
        boot: ['scsi0', 'ide2'],
        install: { timeout: '1h' },
      };
      await ok(templates, config);
      const made = bench.vm('debian-base').config.current;
      expect([made.get('boot'), made.has('ide2'), made.get('template')]).toEqual(['order=scsi0', false, '1']);
      expect(await bench.hosts({ template: templates.instance }).templates.plan(config)).toEqual(EMPTY_PLAN);
    });
  });

  it('installs itself with custom user-data, and keeps none of it', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images, templates } = bench.hosts();
      await ok(images, {
        node: 'vmhost',
        url: WELL_KNOWN_URLS.talosNoCloudIso,
        storage: 'local',
        content: 'iso',
        file: 'talos.iso',
      });
      const told = (text: string): Config => ({
        name: 'talos-base',
        node: 'vmhost',
        guest: 'talos',
        memory: '2GiB',
        disks: { scsi0: { storage: 'tank', size: '10GiB' }, ide2: { iso: images.state.id } },
        boot: ['scsi0', 'ide2'],
        cloud_init: { storage: 'local', slot: 'ide0', user_data: { text } },
        install: { timeout: '1h' },
      });
      const MACHINE = 'version: v1alpha1\nmachine:\n  type: worker\n  install:\n    disk: /dev/sda\n';
      await ok(templates, told(MACHINE));
      expect(bench.files()).toHaveLength(1);
      const made = bench.vm('talos-base').config.current;
      expect([made.has('ide0'), made.has('ide2'), made.get('template')]).toEqual([false, false, '1']);
      const later = bench.hosts({ template: templates.instance }).templates;
      expect(await later.plan(told(MACHINE))).toEqual(EMPTY_PLAN);
      expect((await later.plan(told(`${MACHINE}  kubelet: {}\n`))).changed).toContain('recipe');
    });
  });

  it('postpones what cannot be known yet', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      const open = { ...BASE, disks: { scsi0: { import_from: UNKNOWN, storage: 'tank' } } };
      expect(await templates.plan(open)).toMatchObject({ action: 'create', diagnostics: [] });
      expect(await templates.plan({ ...BASE, node: UNKNOWN })).toMatchObject({ action: 'create', diagnostics: [] });
      await ok(templates, BASE);
      expect(await templates.plan(open)).toMatchObject({ action: 'update', diagnostics: [] });
      // It turns out to be what it was.
      expect(bench.guests()).toHaveLength(1);
    }));
});

describe('a template that is not finished', () => {
  it('is completed by the next run after a stop', () =>
    onBench(async (bench) => {
      const first = bench.hosts();
      bench.onRequest = (line) => {
        if (line.startsWith('PUT') || /^POST .*\/config$/.test(line)) first.abort.abort();
      };
      const stopped = await first.templates.apply(BASE);
      expect(stopped.diagnostics.map(({ summary }) => summary)).toEqual(['Stopped', 'An unfinished template stays']);
      expect(first.templates.instance).toBeUndefined();
      bench.onRequest = () => {};
      const { templates } = bench.hosts();
      const made = await ok(templates, BASE);
      expect(made.diagnostics.map(({ summary }) => summary)).toEqual(['An earlier run left this template unfinished']);
      expect(bench.guests()).toHaveLength(1);
    }));

  it('gives way to one of another recipe, and the version before it still gives up its name', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      const old = Number(templates.state.vmid);
      const second = bench.hosts({ template: templates.instance });
      bench.onRequest = (line) => {
        if (/^POST .*\/template$/.test(line)) second.abort.abort();
      };
      expect(hasErrors((await second.templates.apply(BIGGER)).diagnostics)).toBe(true);
      expect(second.templates.state.vmid).toBe(old);
      bench.onRequest = () => {};
      const third = bench.hosts({ template: second.templates.instance }).templates;
      await ok(third, { ...BASE, memory: '8GiB' });
      expect(bench.guests().sort()).toEqual(
        [`${old} ubuntu-base-retired-${old} (template)`, `${String(third.state.vmid)} ubuntu-base (template)`].sort(),
      );
      await ok(third, null);
      expect(bench.guests()).toEqual([]);
    }));
});

describe('a plan of a template', () => {
  it.each([
    [
      'that a storage is missing',
      { disks: { scsi0: { import_from: 'local:import/noble.qcow2', storage: 'nowhere' } } },
      'nowhere',
    ],
    ['that a bridge is missing', { nics: { net0: { bridge: 'vmbr9' } } }, 'vmbr9'],
    ['that the node is missing', { node: 'elsewhere' }, 'There is no node "elsewhere"'],
    ['that it copies nothing', { from: { vm: 'nobody' }, disks: {}, boot: null }, 'No visible VM is called "nobody"'],
  ])('says before anything happens %s', (_, change, expected) =>
    onBench(async (bench) => {
      await plantStranger(bench);
      const { diagnostics } = await bench.hosts().templates.plan({ ...BASE, ...change });
      expect(diagnostics.map(told).join('\n')).toContain(expected);
      expect(hasErrors(diagnostics)).toBe(true);
    }),
  );

  it('says that another guest has its name', () =>
    onBench(async (bench) => {
      const { templates } = bench.hosts();
      await ok(templates, BASE);
      await bench.outside().node('vmhost').vm(Number(templates.state.vmid)).config.put({ description: 'mine' });
      const { diagnostics } = await bench.hosts().templates.plan(BASE);
      expect(codes(diagnostics)).toEqual(['NOT_OURS']);
    }));

  it('says what its configuration lacks', async () => {
    const { templates } = new BareBench().hosts();
    const { disks: _, boot: __, ...empty } = BASE;
    expect((await templates.validate(empty)).map(told).join()).toContain(
      'Nothing installs an operating system on the template',
    );
    expect((await templates.validate({ ...BASE, vmid: 9000, vmids: '9000-9009' })).map(told)).toEqual([
      expect.stringContaining('cannot be used together'),
    ]);
  });
});

describe('a VM whose template is made in the same run', () => {
  const web: Config = {
    name: 'web',
    node: 'vmhost',
    guest: 'cloud-init',
    clone: { template: 'ubuntu-base' },
    ready: { agent: false },
    nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
  };

  it('is planned by the name of the template with a warning, after the template has been', () =>
    onBench(async (bench) => {
      const process = bench.hosts();
      await process.templates.plan(BASE);
      const plan = await process.vms.plan(web);
      expect(plan.action).toBe('create');
      expect(plan.diagnostics.map(({ severity, summary }) => `${severity} ${summary}`)).toEqual([
        'warning The same run creates the template',
      ]);
      const wrong = await process.vms.plan({ ...web, node: 'elsewhere' });
      expect(hasErrors(wrong.diagnostics)).toBe(true);
      await process.templates.plan({ ...BASE, name: 'other', vmid: 9000 });
      expect((await process.vms.plan({ ...web, clone: { template: '9000' } })).action).toBe('create');
    }));

  it('is planned without a word where the template is not known yet', () =>
    onBench(async (bench) => {
      const plan = await bench.hosts().vms.plan({ ...web, clone: { template: UNKNOWN } });
      expect(plan).toMatchObject({ action: 'create', diagnostics: [] });
    }));

  it('is refused if no resource plans such a template', () =>
    onBench(async (bench) => {
      await plantStranger(bench);
      const { diagnostics } = await bench.hosts().vms.plan(web);
      expect(codes(diagnostics)).toEqual(['MISSING_REFERENCE']);
    }));

  it('is cloned from it right after it was made', () =>
    onBench(async (bench) => {
      const process = bench.hosts();
      await ok(process.templates, BASE);
      await ok(process.vms, web);
      expect(bench.guests()).toHaveLength(2);
      expect((await bench.hosts({ vm: process.vms.instance }).vms.plan(web)).action).toBe('none');
    }));
});
