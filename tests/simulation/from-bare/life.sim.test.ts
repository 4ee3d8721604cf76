/** From a bare host to running VMs and back to a bare host, without trouble. */
import { describe, expect, it } from 'vitest';
import { failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { complaintsAfter, complaintsAfterDestroy, strangersPicture } from './support/invariants.ts';
import { cloudStack, clusterStack, talosStack } from './support/stacks.ts';
import { clusterWorld, hostWorld, olderHost } from './support/worlds.ts';

const LIVES = [
  { name: 'an image, a template and two linked clones', text: cloudStack(), world: hostWorld },
  { name: 'the same on Proxmox VE 8.4', text: cloudStack(), world: olderHost('8.4') },
  { name: 'a Talos ISO that installs itself, and clones with data of their own', text: talosStack(), world: hostWorld },
  { name: 'a template on each node of a cluster', text: clusterStack(), world: clusterWorld },
  { name: 'a template and an image on each node', text: clusterStack(2, 'local'), world: clusterWorld },
];

describe.each(LIVES)('$name', ({ text, world }) => {
  it('is there after one apply, and nothing of it after destroy --all', async () => {
    const scene = new Scene({ world });
    const before = strangersPicture(scene.world);
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    expect(await complaintsAfter(scene, text, before)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, text, before)).toEqual([]);
  });
});
