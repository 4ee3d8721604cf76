/** An apply that moves disks, one of them while the VM is off, is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { complaintsAfter, failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const stack = (storage: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: pve1
    restart: when_needed
    clone: { template: ubuntu-24.04, storage: local-lvm }
    tpm: { storage: ${storage} }
    disks: { scsi1: { storage: ${storage}, size: 2GiB } }
`;

it('loses and leaves no volume after a kill at any point of a disk move, and the next run finishes it', async () => {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(stack('local-lvm')))).toEqual([]);
  await scene.clock.advance(120_000);
  const after = stack('nfs');
  const failures = await crashEverywhere({
    name: 'disk move',
    from: await scene.snapshot(),
    run: (each) => each.apply(after),
    complaints: (each, before) => complaintsAfter(each, after, before),
    tasks: ['qmmove', 'qmshutdown', 'qmstart'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
