/** A provider process is killed at every point while it works on a template: the next one resumes, and nothing is duplicated or lost. */
import { describe, expect, it } from 'vitest';
import { WELL_KNOWN_URLS } from '../../src/simulator/index.ts';
import { BASE, BareBench, NOBLE } from './support/bare-bench.ts';
import { killBareEverywhere } from './support/kill-bare.ts';
import type { Config } from './support/toy-host.ts';

const ISO: Config = {
  node: 'vmhost',
  url: WELL_KNOWN_URLS.preseededIsoGz,
  storage: 'local',
  content: 'iso',
  file: 'debian.iso',
};

const INSTALLED: Config = {
  name: 'debian-base',
  node: 'vmhost',
  guest: 'plain',
  memory: '2GiB',
  disks: { scsi0: { storage: 'tank', size: '10GiB' }, ide2: { iso: 'local:iso/debian.iso' } },
  boot: ['scsi0', 'ide2'],
  install: { timeout: '1h' },
};

const TALOS_ISO: Config = { ...ISO, url: WELL_KNOWN_URLS.talosNoCloudIso, file: 'talos.iso' };

const TOLD: Config = {
  name: 'talos-base',
  node: 'vmhost',
  guest: 'talos',
  memory: '2GiB',
  disks: { scsi0: { storage: 'tank', size: '10GiB' }, ide2: { iso: 'local:iso/talos.iso' } },
  boot: ['scsi0', 'ide2'],
  cloud_init: {
    storage: 'local',
    slot: 'ide0',
    user_data: { text: 'version: v1alpha1\nmachine:\n  type: worker\n  install:\n    disk: /dev/sda\n' },
  },
  install: { timeout: '1h' },
};

/** What stands when the image is there and, where one is given, the template was made. */
async function prepared(image: Config, template?: Config) {
  const bench = new BareBench();
  const { images, templates } = bench.hosts();
  await bench.run(async () => {
    await images.apply(image);
    if (template) await templates.apply(template);
  });
  await bench.clock.advance(120_000);
  return { from: bench.snapshot(), instance: templates.instance };
}

describe('a provider that is killed', () => {
  it('is followed by one that completes the template, wherever the kill was', async () => {
    const { from } = await prepared(NOBLE);
    const tasks = ['qmcreate', 'qmtemplate'];
    const failures = await killBareEverywhere({ name: 'template', kind: 'template', from, config: BASE, tasks });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that does not install a template again, wherever the kill was', async () => {
    const { from } = await prepared(ISO);
    const tasks = ['qmcreate', 'qmstart', 'qmtemplate'];
    const failures = await killBareEverywhere({
      name: 'template that installs itself',
      kind: 'template',
      from,
      config: INSTALLED,
      tasks,
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that leaves no user-data of an installation behind, wherever the kill was', async () => {
    const { from } = await prepared(TALOS_ISO);
    const tasks = ['qmcreate', 'qmstart', 'qmtemplate'];
    const failures = await killBareEverywhere({
      name: 'template that is told',
      kind: 'template',
      from,
      config: TOLD,
      tasks,
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that builds no third version, wherever the kill was', async () => {
    const { from, instance } = await prepared(NOBLE, BASE);
    const failures = await killBareEverywhere({
      name: 'new version',
      kind: 'template',
      from,
      instance,
      config: { ...BASE, memory: '4GiB' },
      tasks: ['qmcreate', 'qmtemplate'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that leaves nothing of a destroyed template, wherever the kill was', async () => {
    const { from, instance } = await prepared(NOBLE, BASE);
    const failures = await killBareEverywhere({
      name: 'destruction of a template',
      kind: 'template',
      from,
      instance,
      config: null,
      tasks: ['qmdestroy'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
