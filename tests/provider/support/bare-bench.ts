/** Images, templates and VMs together on a bare host, each process with hosts for all three. */
import { imageResource } from '../../../src/provider/kinds/image/resource.ts';
import { templateResource } from '../../../src/provider/kinds/template/resource.ts';
import { KnownVms } from '../../../src/provider/kinds/vm/leftovers.ts';
import { vmResource } from '../../../src/provider/kinds/vm/resource.ts';
import { bareWorld, madeUpChecksums, WELL_KNOWN_URLS, type World } from '../../../src/simulator/index.ts';
import { type Config, type Instance, ToyHost } from './toy-host.ts';
import { type BenchOptions, type ProcessOptions, type ProviderProcess, VmBench } from './vm-bench.ts';

export const NOBLE_SHA256 = String(madeUpChecksums(WELL_KNOWN_URLS.ubuntuNoble).sha256);

/** As Proxmox downloads it, under a name that it accepts. */
export const NOBLE: Config = {
  node: 'vmhost',
  url: WELL_KNOWN_URLS.ubuntuNoble,
  storage: 'local',
  content: 'import',
  file: 'noble.qcow2',
};

export const NOBLE_VOLUME = 'local:import/noble.qcow2';

/** Made from it; its clones have no guest agent. */
export const BASE: Config = {
  name: 'ubuntu-base',
  node: 'vmhost',
  guest: 'cloud-init',
  agent: { enabled: false },
  cpu: { cores: 2 },
  memory: '2GiB',
  disks: { scsi0: { import_from: NOBLE_VOLUME, storage: 'tank' } },
  nics: { net0: { bridge: 'vmbr0' } },
  cloud_init: { storage: 'tank' },
  boot: ['scsi0'],
};

export interface BareProcess extends ProviderProcess {
  readonly images: ToyHost;
  readonly templates: ToyHost;
  readonly vms: ToyHost;
}

/** What the host has in its state. */
export interface InState {
  readonly image?: Instance | undefined;
  readonly template?: Instance | undefined;
  readonly vm?: Instance | undefined;
}

export class BareBench extends VmBench {
  constructor(options: BenchOptions = {}) {
    super({ world: bareWorld, ...options });
  }

  /** A process whose host knows this much. */
  hosts(held: InState = {}, options: ProcessOptions = {}): BareProcess {
    const process = this.process(options);
    const depsOf = () => process.deps;
    const known = new KnownVms();
    const [images, templates, vms] = [
      new ToyHost(imageResource(depsOf)),
      new ToyHost(templateResource(depsOf, known)),
      new ToyHost(vmResource(depsOf, known)),
    ];
    images.instance = held.image;
    templates.instance = held.template;
    vms.instance = held.vm;
    return { ...process, images, templates, vms };
  }

  /** Names of files in the storage. */
  files(storage = 'local'): string[] {
    return [...(this.world.storages.get(storage)?.volumes.values() ?? [])]
      .flatMap((onNode) => [...onNode.values()])
      .map(({ name }) => name)
      .filter((name) => /^(import|iso)\//.test(name) || /\.(qcow2|iso|raw|img)$/.test(name));
  }

  /** Templates and VMs by id, with their names. */
  guests(): string[] {
    return [...this.world.vms.values()].map(
      ({ vmid, config }) =>
        `${vmid} ${config.current.get('name')}${config.current.has('template') ? ' (template)' : ''}`,
    );
  }
}

export function emptied({ storages, vms }: World): string[] {
  const volumes = [...storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((onNode) => [...onNode.values()].map(({ name }) => name)),
  );
  return [...volumes, ...[...vms.keys()].map((vmid) => `VM ${vmid}`)];
}
