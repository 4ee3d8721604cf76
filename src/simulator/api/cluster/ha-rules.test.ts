/** HA rules on a cluster of three nodes, which no recording covers: feasibility depends on the nodes and on other rules. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_USER, TestClient } from '../../testing/client.ts';

const MANAGER_ACTIVE_MS = 15_000;

let client: TestClient;

beforeEach(async () => {
  client = new TestClient({
    users: ADMIN_USER,
    nodes: { pve1: {}, pve2: {}, pve3: {} },
    vms: Object.fromEntries([101, 102, 103, 104].map((vmid) => [vmid, { node: 'pve1', config: { memory: '64' } }])),
  });
  for (const vmid of [101, 102, 103, 104]) {
    await client.ask('POST', '/cluster/ha/resources', { sid: `vm:${vmid}`, state: 'ignored' });
  }
});

async function manager(): Promise<void> {
  await client.clock.advance(MANAGER_ACTIVE_MS);
}

function create(rule: string, params: Record<string, string | number>): Promise<unknown> {
  const type = 'nodes' in params ? 'node-affinity' : 'resource-affinity';
  return client.ask('POST', '/cluster/ha/rules', { rule, type, ...params });
}

/** Why a rule is refused; the reason phrase of the answer has only the first line. */
async function complaint(rule: string, attempt: Promise<unknown>): Promise<string> {
  await expect(attempt).rejects.toThrow(`500 create ha rule failed: 400 Rule '${rule}' is invalid.`);
  return client.lastBody.message.split('\n')[1] ?? '';
}

async function rules(): Promise<Record<string, unknown>[]> {
  return (await client.ask('GET', '/cluster/ha/rules')) as Record<string, unknown>[];
}

const apart = (resources: string) => ({ resources, affinity: 'negative' });
const together = (resources: string) => ({ resources, affinity: 'positive' });

describe('a rule that keeps resources apart', () => {
  it('is refused until the manager has seen the nodes for the first time', async () => {
    expect(await complaint('apart', create('apart', apart('vm:101,vm:102')))).toBe(
      'resources: rule defines more resources than available nodes',
    );
    await manager();
    expect(await create('apart', apart('vm:101,vm:102'))).toBeNull();
  });

  it('is refused for more resources than there are nodes', async () => {
    await manager();
    expect(await create('three', apart('vm:101,vm:102,vm:103'))).toBeNull();
    expect(await complaint('four', create('four', apart('vm:101,vm:102,vm:103,vm:104')))).toBe(
      'resources: rule defines more resources than available nodes',
    );
  });

  it('is refused if another rule keeps two of the resources together, also through a third', async () => {
    await manager();
    await create('aa', together('vm:101,vm:102'));
    await create('bb', together('vm:102,vm:103'));
    expect(await complaint('apart', create('apart', apart('vm:101,vm:103')))).toBe(
      'resources: rule shares two or more resources with a positive resource affinity rule',
    );
  });

  it('is refused if node rules leave too few nodes', async () => {
    await manager();
    await create('place', { resources: 'vm:101,vm:102', nodes: 'pve1' });
    expect(await complaint('apart', create('apart', apart('vm:101,vm:102')))).toBe(
      'resources: two or more resources are restricted to less nodes than available to the resources',
    );
    await client.ask('PUT', '/cluster/ha/rules/place', { type: 'node-affinity', nodes: 'pve2,pve1' });
    expect(await create('apart', apart('vm:101,vm:102'))).toBeNull();
    await expect(
      client.ask('PUT', '/cluster/ha/rules/place', { type: 'node-affinity', nodes: 'pve3' }),
    ).rejects.toThrow("500 update HA rules failed: 400 Rule 'place' is invalid.");
  });
});

describe('a rule about nodes', () => {
  it('shows nodes sorted, with priorities other than 0', async () => {
    await create('place', { resources: 'vm:102,vm:101', nodes: 'pve3:2,pve1:0,pve2' });
    expect(await rules()).toEqual([
      {
        rule: 'place',
        type: 'node-affinity',
        resources: 'vm:101,vm:102',
        nodes: 'pve1,pve2,pve3:2',
        order: 1,
        digest: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
    ]);
  });

  it('cannot have several priorities for resources that another rule keeps together', async () => {
    await create('place', { resources: 'vm:101', nodes: 'pve1:1,pve2:2' });
    expect(await complaint('pair', create('pair', together('vm:101,vm:102')))).toBe(
      'resources: resources are in node affinity rules with multiple priorities',
    );
  });
});

describe('the list of rules', () => {
  it('keeps a rule that has become infeasible, and says why', async () => {
    await create('pair', together('vm:101,vm:102'));
    await client.ask('DELETE', '/cluster/ha/resources/vm:101');
    expect(await rules()).toMatchObject([
      {
        rule: 'pair',
        resources: 'vm:102',
        errors: { resources: ['rule is ineffective as there are less than two resources'] },
      },
    ]);
    await client.ask('DELETE', '/cluster/ha/resources/vm:102');
    expect(await rules()).toEqual([]);
  });

  it('need not be in the order of creation from the third rule on', async () => {
    const orders = new Set<string>();
    for (let round = 0; round < 12; round++) {
      for (const rule of ['aa', 'bb', 'cc']) await create(rule, together('vm:101,vm:102'));
      orders.add((await rules()).map(({ rule }) => rule).join());
      for (const rule of ['aa', 'bb', 'cc']) await client.ask('DELETE', `/cluster/ha/rules/${rule}`);
    }
    expect([...orders].sort()).toEqual(['aa,bb,cc', 'aa,cc,bb']);
  });
});

it('refuses to set and delete an option of a rule in one request', async () => {
  await create('pair', { ...together('vm:101,vm:102'), comment: 'old' });
  await expect(
    client.ask('PUT', '/cluster/ha/rules/pair', { type: 'resource-affinity', comment: 'new', delete: 'comment' }),
  ).rejects.toThrow("500 update HA rules failed: cannot set and delete property 'comment' at the same time!");
});
