/**
 * Every endpoint of Proxmox VE is known: one that is not simulated says so, and only a nonexistent one is "not
 * implemented".
 */
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../api/index.ts';
import { API_FACTS } from '../schema/api-facts.generated.ts';
import { EXTRA_FACTS, otherEndpointsOf } from '../schema/api-of-release.ts';
import { ADMIN_USER, TestClient } from '../testing/client.ts';
import { NEWEST_RELEASE } from '../world/releases.ts';

function clientOf(version: string): TestClient {
  return new TestClient({
    version,
    users: ADMIN_USER,
    nodes: { pve1: {} },
    vms: { 100: { node: 'pve1', config: { memory: '64' } } },
  });
}

const VALUES: Readonly<Record<string, string>> = { node: 'pve1', vmid: '100', userid: 'root@pam' };

async function refusal(client: TestClient, endpoint: string): Promise<string> {
  const [method = '', path = ''] = endpoint.split(' ');
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => VALUES[name] ?? 'x1');
  try {
    await client.ask(method, filled);
    return 'answered';
  } catch (error) {
    return (error as Error).message.replace(`'${method} ${filled}'`, 'M');
  }
}

describe('an endpoint that Proxmox VE has and the simulator lacks', () => {
  const known = [...Object.keys(API_FACTS), ...Object.keys(EXTRA_FACTS), ...otherEndpointsOf(NEWEST_RELEASE)];
  const lacking = known.filter((name) => !Object.hasOwn(ROUTES, name));

  it('is listed in the API description of 9.2', () => {
    // 649 methods in the description that comes with the documentation, one that 9.2.11 has added since, and `GET /`.
    expect(new Set(known).size).toBe(651);
  });

  it('says that it is not simulated, whatever is sent', async () => {
    const client = clientOf('9.2');
    const wrong = [];
    for (const name of lacking) {
      const words = await refusal(client, name);
      if (words !== '501 Method M is not simulated') wrong.push(`${name}: ${words}`);
    }
    expect(wrong).toEqual([]);
    expect(lacking.length).toBeGreaterThan(400);
  });

  it('does not exist in releases that are older', async () => {
    const client = clientOf('8.0');
    for (const name of ['GET /cluster/notifications/targets', 'POST /cluster/bulk-action/guest/start']) {
      expect(await refusal(client, name)).toBe('501 Method M not implemented');
    }
    expect(await refusal(client, 'GET /nodes/{node}/scan/glusterfs')).toBe('501 Method M is not simulated');
    expect(await refusal(clientOf('9.0'), 'GET /nodes/{node}/scan/glusterfs')).toBe('501 Method M not implemented');
  });
});

it('answers 501 "not implemented" if Proxmox VE has no such endpoint', async () => {
  const client = clientOf('9.2');
  for (const name of ['GET /nosuch', 'POST /version', 'GET /cluster/nosuch', 'DELETE /nodes']) {
    expect(await refusal(client, name)).toBe('501 Method M not implemented');
  }
});

it.each([
  'GET /storage/no%20such',
  'PUT /cluster/ha/rules/no%20such',
  'GET /nodes/pve1/storage/local/content/local:iso/no%20such.iso',
])('answers 501 "not implemented" where a part of the path has white space: %s', async (name) => {
  const [method = '', path = ''] = name.split(' ');
  const words = `501 Method '${method} ${decodeURIComponent(path)}' not implemented`;
  await expect(clientOf('9.2').ask(method, path)).rejects.toThrow(words);
});

it.each([
  '/cluster/firewall/aliases /cluster/firewall/groups /cluster/firewall/ipset /cluster/firewall/refs /cluster/firewall/rules',
  '/nodes/pve1/firewall/rules /nodes/pve1/qemu/100/firewall/rules /nodes/pve1/qemu/100/firewall/aliases',
  '/nodes/pve1/qemu/100/firewall/ipset /nodes/pve1/qemu/100/firewall/refs',
  '/nodes/pve1/lxc /cluster/backup /cluster/jobs/realm-sync /cluster/replication /nodes/pve1/replication',
  '/access/tfa /access/tfa/root@pam /cluster/metrics/server',
  '/cluster/sdn/zones /cluster/sdn/vnets /cluster/sdn/controllers /cluster/sdn/dns',
])('reads lists that are present and empty: %s', async (paths) => {
  const client = clientOf('9.2');
  for (const path of paths.split(' ')) expect(await client.ask('GET', path), path).toEqual([]);
});
