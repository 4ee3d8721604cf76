import { expect, it } from 'vitest';
import { errorOf, ok, refused, testClient } from './testing/client.ts';

const DESTROYED = "Configuration file 'nodes/pve1/qemu-server/618.conf' does not exist";

it('lists VMs again if another client has just destroyed one of them', async () => {
  let calls = 0;
  const client = testClient(() => (++calls === 1 ? refused(500, DESTROYED) : ok([])));
  expect(await client.clock.run(() => client.pve.node('pve1').vms.list())).toEqual([]);
  expect(calls).toBe(2);
});

it('asks once for a VM that is not there', async () => {
  let calls = 0;
  const client = testClient(() => {
    calls++;
    return refused(500, DESTROYED);
  });
  const error = await errorOf(client.clock, () => client.pve.node('pve1').vm(618).config.get());
  expect([error.code, calls]).toEqual(['NOT_FOUND', 1]);
});

it('sends a change once, whichever VM is missing', async () => {
  let calls = 0;
  const client = testClient(() => {
    calls++;
    return refused(500, DESTROYED);
  });
  const error = await errorOf(client.clock, () => client.pve.node('pve1').vm(101).clone({ newid: 102 }));
  expect([error.code, calls]).toEqual(['NOT_FOUND', 1]);
});
