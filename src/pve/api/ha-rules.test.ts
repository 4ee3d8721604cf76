import { expect, it } from 'vitest';
import { ok, testClient } from '../testing/client.ts';

it('reads HA rules with sorted lists', async () => {
  const rows = [
    {
      rule: 'apart',
      type: 'resource-affinity',
      resources: 'vm:101,vm:100',
      affinity: 'negative',
      order: 2,
      digest: 'd',
    },
    {
      rule: 'place',
      type: 'node-affinity',
      resources: 'ct:100',
      nodes: 'pve2:1,pve1',
      strict: 1,
      disable: 1,
      order: 1,
    },
  ];
  const { clock, pve } = testClient(() => ok(rows));
  expect(await clock.run(() => pve.cluster.haRules.list())).toMatchObject([
    { rule: 'apart', resources: ['vm:100', 'vm:101'], affinity: 'negative', digest: 'd' },
    { rule: 'place', resources: ['ct:100'], nodes: ['pve1', 'pve2:1'], strict: true, disable: true },
  ]);
});

it('writes HA rules as the server expects them: lists with commas, and the type in every change', async () => {
  const { clock, pve, transport } = testClient(() => ok(null));
  const resources = ['vm:101', 'vm:102'];
  await clock.run(async () => {
    await pve.cluster.haRules.create('place', {
      type: 'node-affinity',
      resources,
      nodes: ['pve1', 'pve2'],
      strict: true,
    });
    await pve.cluster.haRules.update('apart', { type: 'resource-affinity', resources, delete: 'disable', digest: 'd' });
    await pve.cluster.haRules.delete('apart');
  });
  const bodies = transport.requests.map(({ body }) => (body === undefined ? '' : ` ${String(body)}`));
  expect(
    transport
      .lines()
      .map((line, index) => line + bodies[index])
      .slice(1),
  ).toEqual([
    'POST /cluster/ha/rules rule=place&type=node-affinity&strict=1&resources=vm%3A101%2Cvm%3A102&nodes=pve1%2Cpve2',
    'PUT /cluster/ha/rules/apart type=resource-affinity&delete=disable&digest=d&resources=vm%3A101%2Cvm%3A102',
    'DELETE /cluster/ha/rules/apart',
  ]);
});
