/** Values that the file spells differently although Proxmox makes no difference: they are no change. */
import { expect, it } from 'vitest';
import { failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const stack = (tags: string, mac: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    node: pve1
    guest: plain
    power: stopped
    clone: { template: ubuntu-24.04, storage: local-lvm }
    tags: [${tags}]
    nics: { net0: { bridge: vmbr0, mac: "${mac}" } }
`;

it('plans no change for tags in another order or case, and for a MAC address in another case', async () => {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(stack('prod, web', 'BC:24:11:AA:BB:CC')))).toEqual([]);
  for (const text of [stack('web, prod', 'BC:24:11:AA:BB:CC'), stack('Web, PROD', 'bc:24:11:aa:bb:cc')]) {
    expect(await scene.plan(text)).toMatchObject({ plan: { steps: [], changes: [{ kind: 'none' }] } });
  }
  expect(await scene.plan(stack('web', 'BC:24:11:AA:BB:CC'))).toMatchObject({
    plan: { changes: [{ kind: 'update' }] },
  });
});
