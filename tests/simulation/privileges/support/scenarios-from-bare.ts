/** What only a bare host needs: images, templates made from them, and custom cloud-init files. */
import { isSince } from '../../../../src/base/values/release.ts';
import type { WorldFile } from '../../../../src/simulator/index.ts';
import { BARE_WORLD } from '../../../../src/simulator/world/bare-world.ts';
import { sentStack } from '../../from-bare/support/sent-image.ts';
import { cloudStack, talosStack } from '../../from-bare/support/stacks.ts';
import type { Scenario } from './bench.ts';

/** Of the same release; images to import from came with 8.3. */
function onBareHost({ version = '9.2' }: WorldFile): WorldFile {
  if (isSince(String(version), '8.3')) return { ...BARE_WORLD, version };
  const { storages = {} } = BARE_WORLD;
  return { ...BARE_WORLD, version, storages: { ...storages, local: { ...storages.local, content: ['iso'] } } };
}

const apply = (name: string, stack: string) => ({ kind: 'apply' as const, name, stack });

const VMS = '  web: { name: web, vmid: 101, memory: 3GiB }';
const CLOUD = cloudStack({ vms: VMS });
const CHANGED = cloudStack({ vms: VMS, cores: 4 });
const TALOS = talosStack();

export const SCENARIOS_FROM_BARE: readonly Scenario[] = [
  {
    name: 'an image that Proxmox fetches, a template, and its clone',
    world: onBareHost,
    phases: [
      apply('are made', CLOUD),
      apply('get a template of another recipe', CHANGED),
      { ...apply('get the image again', CHANGED), options: { replace: ['image.noble'] } },
      { kind: 'destroy', name: 'are destroyed with everything', stack: CHANGED, all: true },
    ],
  },
  {
    name: 'an image that is sent, and a template',
    world: onBareHost,
    phases: [{ ...apply('are made', sentStack()), options: { only: ['template.ubuntu'] } }],
  },
  {
    name: 'an ISO that installs itself, and a VM with custom user-data',
    world: onBareHost,
    phases: [
      apply('are made', TALOS),
      apply('are told something else', TALOS.replaceAll('type: worker', 'type: controlplane')),
      { kind: 'destroy', name: 'are destroyed', stack: TALOS },
    ],
  },
];
