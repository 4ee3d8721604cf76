/** One server of each release, queried over the wire where they differ. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import type { Method, WireResponse } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { vmLockName } from '../vm/config/locking.ts';
import { buildWorld } from '../world/build-world.ts';
import { DEFAULT_WORLD } from '../world/default-world.ts';
import { knownReleases, RELEASES } from '../world/releases.ts';
import type { WorldFile } from '../world/world-file.ts';
import { createSimulator, type Simulator } from './simulator.ts';

const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const WEAK = 'weak@pve!tok=00000000-0000-4000-8000-000000000009';

/**
 * The documented cluster without what an old release does not support, a running VM, and a token with few privileges.
 */
function serverOf(version: string, privileges: readonly string[] = []) {
  const clock = new VirtualClock();
  const storages = Object.entries(DEFAULT_WORLD.storages ?? {}).map(([id, storage]) => [
    id,
    {
      ...storage,
      content: storage.content?.filter((content) => content !== 'import'),
      volumes: storage.volumes?.filter(({ name }) => !name.startsWith('import/')),
    },
  ]);
  const file: WorldFile = {
    ...DEFAULT_WORLD,
    version,
    storages: Object.fromEntries(storages),
    vms: {
      ...DEFAULT_WORLD.vms,
      700: { node: 'pve1', running: true, config: { name: 'web', agent: '1', net0: 'virtio,bridge=vmbr0' } },
    },
    users: {
      ...DEFAULT_WORLD.users,
      'weak@pve': { tokens: { tok: { secret: WEAK.split('=')[1] ?? '', privsep: false } } },
    },
    roles: { ...DEFAULT_WORLD.roles, Weak: [...privileges] },
    acl: [...(DEFAULT_WORLD.acl ?? []), { path: '/', role: 'Weak', user: 'weak@pve' }],
  };
  const world = buildWorld(file, { now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom(version) });
  const ask = (method: Method, path: string, params: Record<string, string> = {}, token = ADMIN) =>
    clock.run(() => request(simulator, method, path, params, token));
  return { clock, world, simulator, ask };
}

async function request(
  simulator: Simulator,
  method: Method,
  path: string,
  params: Record<string, string>,
  token: string,
): Promise<WireResponse & { readonly json: { data?: unknown; message?: string; errors?: unknown } }> {
  const form = new URLSearchParams(params).toString();
  const hasBody = method === 'POST' || method === 'PUT';
  const response = await simulator.handle({
    method,
    target: `/api2/json${path}${hasBody || form === '' ? '' : `?${form}`}`,
    headers: {
      authorization: `PVEAPIToken=${token}`,
      ...(hasBody && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(hasBody && { body: form }),
  });
  return { ...response, json: response.body === '' ? {} : JSON.parse(response.body) };
}

const VM = '/nodes/pve1/qemu/700';

describe('a server', () => {
  it.each(knownReleases())('of %s reports its version', async (release) => {
    const { json } = await serverOf(release).ask('GET', '/version');
    const { version, repoid } = RELEASES[release] ?? {};
    expect(json.data).toEqual({ version, release, repoid });
  });

  it('of an unknown release is refused, with the list of known ones', () => {
    expect(() => serverOf('7.4')).toThrow(/no simulated release "7\.4"; known are 8\.0, 8\.1/);
    expect(() => serverOf('eight')).toThrow(/no simulated release "eight"/);
  });

  it('of a point release reports that release', async () => {
    const { json } = await serverOf('8.4.14').ask('GET', '/version');
    expect(json.data).toMatchObject({ version: '8.4.14', release: '8.4' });
  });
});

describe('a refusal', () => {
  it.each(['8.0', '8.2', '8.3.3'])('of %s has its text in the reason phrase alone', async (version) => {
    const { ask } = serverOf(version);
    const missing = await ask('GET', '/nodes/pve1/qemu/999/config');
    expect(missing.reason).toBe("Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist");
    expect(missing.json).toEqual({ data: null });
    const wrong = await ask('PUT', `${VM}/config`, { cores: 'many' });
    expect(wrong.reason).toBe('Parameter verification failed.');
    expect(wrong.json).toEqual({ data: null, errors: { cores: "type check ('integer') failed - got 'many'" } });
  });

  it.each(['8.3.4', '8.4', '9.0'])('of %s has it in the body too', async (version) => {
    const missing = await serverOf(version).ask('GET', '/nodes/pve1/qemu/999/config');
    expect(missing.json.message).toBe(`${missing.reason}\n`);
  });

  it('of a body that is too large comes earlier before 8.4', async () => {
    const params = { description: 'x'.repeat(100_000) };
    const [old, late] = [serverOf('8.3'), serverOf('8.4')];
    expect(await old.ask('PUT', `${VM}/config`, params)).toMatchObject({ status: 501, reason: 'for data too large' });
    expect((await late.ask('PUT', `${VM}/config`, params)).reason).not.toBe('for data too large');
  });
});

describe('privileges', () => {
  it('of roles are those of the release', async () => {
    const create = (version: string, privs: string) =>
      serverOf(version).ask('POST', '/access/roles', { roleid: 'New', privs });
    expect((await create('8.4', 'VM.Monitor')).status).toBe(200);
    expect((await create('8.4', 'VM.GuestAgent.Audit')).json.errors).toEqual({
      privs: "invalid format - invalid privilege 'VM.GuestAgent.Audit'\n",
    });
    expect((await create('9.0', 'VM.Monitor')).json.errors).toEqual({
      privs: "invalid format - invalid privilege 'VM.Monitor'\n",
    });
    expect((await create('8.1', 'Sys.AccessNetwork')).status).toBe(400);
    expect((await create('8.2', 'Sys.AccessNetwork')).status).toBe(200);
  });

  it('for the guest agent are VM.Monitor, and its own ones since 9.0', async () => {
    const ping = async (version: string, privilege: string) =>
      (await serverOf(version, [privilege]).ask('POST', `${VM}/agent/ping`, {}, WEAK)).reason;
    expect(await ping('8.4', 'VM.Audit')).toBe('Permission check failed (/vms/700, VM.Monitor)');
    expect(await ping('8.4', 'VM.Monitor')).not.toContain('Permission check failed');
    expect(await ping('9.0', 'VM.Audit')).toContain('VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted');
  });

  it('for random number generators require root before 8.4', async () => {
    const set = (version: string) =>
      serverOf(version, ['VM.Config.HWType']).ask('PUT', `${VM}/config`, { rng0: 'source=/dev/urandom' }, WEAK);
    expect((await set('8.3')).reason).toBe("only root can set 'rng0' config");
    expect((await set('8.4')).status).toBe(200);
  });

  it('for the bridge that a NIC leaves are checked since 8.1', async () => {
    const rights = ['VM.Config.Network'];
    const remove = async (version: string) =>
      (await serverOf(version, rights).ask('PUT', `${VM}/config`, { delete: 'net0' }, WEAK)).status;
    expect(await remove('8.0')).toBe(200);
    expect(await remove('8.1')).toBe(403);
  });

  it('for tags of a new VM are checked since 9.2.5', async () => {
    const create = async (version: string) => {
      const { ask, clock, world } = serverOf(version, ['VM.Allocate']);
      const { json } = await ask('POST', '/nodes/pve1/qemu', { vmid: '800', tags: 'b,a' }, WEAK);
      await clock.advance(5_000);
      return {
        status: world.tasks.get(String(json.data))?.exitStatus,
        tags: world.vms.get(800)?.config.current.get('tags'),
      };
    };
    expect(await create('8.4')).toEqual({ status: 'OK', tags: 'b,a' });
    expect((await create('9.2')).status).toContain('Permission check failed (/vms/800, VM.Config.Options)');
  });
});

describe('POST …/config while another client holds the lock', () => {
  async function change(version: string) {
    const { clock, simulator, world, ask } = serverOf(version);
    const release = await simulator.runtime.locks.acquire(vmLockName('pve1', 700), 'exclusive', 0);
    const answer = await ask('POST', `${VM}/config`, { cores: '2' });
    await clock.advance(20_000);
    release?.();
    return { answer, status: world.tasks.get(String(answer.json.data))?.exitStatus };
  }

  it('is an HTTP error before 9.0, and the end of a task after', async () => {
    const text = "can't lock file '/var/lock/qemu-server/lock-700.conf' - got timeout";
    expect((await change('8.4')).answer).toMatchObject({ status: 500, reason: text });
    const late = await change('9.0');
    expect([late.answer.status, late.status]).toEqual([200, text]);
  });

  it('keeps the lock until its task has ended, and no longer', async () => {
    const { clock, simulator, world, ask } = serverOf('8.4');
    const { json } = await ask('POST', `${VM}/config`, { cores: '2' });
    await clock.advance(5_000);
    expect(world.tasks.get(String(json.data))?.exitStatus).toBe('OK');
    expect(simulator.runtime.locks.isFree(vmLockName('pve1', 700), 'exclusive')).toBe(true);
    expect(world.vms.get(700)?.config.pending.get('cores')).toBe('2');
  });

  it('refuses a stale digest immediately, with the message of the release', async () => {
    const stale = { cores: '2', digest: 'a'.repeat(40) };
    const reason = async (version: string) => (await serverOf(version).ask('POST', `${VM}/config`, stale)).reason;
    expect(await reason('8.2')).toBe('checksum missmatch (file change by other user?)');
    expect(await reason('8.4')).toBe('checksum mismatch (file change by other user?)');
  });
});

describe('high availability', () => {
  it('has groups before 9.0', async () => {
    const { ask } = serverOf('8.4');
    const groups = '/cluster/ha/groups';
    expect((await ask('POST', groups, { group: 'near', nodes: 'pve1:2,pve2', restricted: '1' })).status).toBe(200);
    expect((await ask('POST', groups, { group: 'near', nodes: 'pve1' })).reason).toBe(
      "create ha group failed: ha group ID 'near' already defined",
    );
    expect((await ask('GET', groups)).json.data).toEqual([
      { group: 'near', type: 'group', nodes: 'pve1:2,pve2', restricted: 1, digest: expect.any(String) },
    ]);
    expect((await ask('POST', '/cluster/ha/resources', { sid: 'vm:700', group: 'near' })).status).toBe(200);
    expect((await ask('GET', '/cluster/ha/resources/vm:700')).json.data).toMatchObject({ group: 'near' });
    expect((await ask('PUT', '/cluster/ha/resources/vm:700', { group: 'far' })).reason).toBe(
      "HA group 'far' does not exist",
    );
    expect((await ask('DELETE', `${groups}/near`)).reason).toBe(
      "delete ha group failed: ha group is used by service 'vm:700'",
    );
    expect((await ask('PUT', `${groups}/near`, { delete: 'nodes' })).reason).toBe(
      "update ha group failed: unable to delete required option 'nodes'",
    );
    expect((await ask('PUT', '/cluster/ha/resources/vm:700', { delete: 'group' })).status).toBe(200);
    expect((await ask('DELETE', `${groups}/near`)).status).toBe(200);
    expect((await ask('GET', `${groups}/near`)).reason).toBe("no such ha group 'near'");
  });

  it('reports a missing group in its list', async () => {
    const { ask } = serverOf('8.4');
    await ask('POST', '/cluster/ha/resources', { sid: 'vm:700', group: 'lost' });
    expect((await ask('GET', '/cluster/ha/resources')).json.data).toMatchObject([
      { sid: 'vm:700', errors: { group: "group 'lost' does not exist" } },
    ]);
  });

  it('has no rules and no failback before 9.0', async () => {
    const { ask } = serverOf('8.4');
    expect(await ask('GET', '/cluster/ha/rules')).toMatchObject({
      status: 501,
      reason: "Method 'GET /cluster/ha/rules' not implemented",
    });
    expect((await ask('POST', '/cluster/ha/resources', { sid: 'vm:700', failback: '1' })).status).toBe(400);
    expect((await ask('GET', '/cluster/ha')).json.data).toEqual([
      { id: 'status' },
      { id: 'resources' },
      { id: 'groups' },
    ]);
  });

  it('has only rules since', async () => {
    const { ask } = serverOf('9.0');
    expect((await ask('POST', '/cluster/ha/groups', { group: 'near', nodes: 'pve1' })).reason).toBe(
      'cannot create group: ha groups have been migrated to rules',
    );
    expect((await ask('GET', '/cluster/ha/rules')).json.data).toEqual([]);
  });
});

describe('answers', () => {
  it('lack fields of later releases', async () => {
    const fields = async (version: string) => {
      const { ask } = serverOf(version);
      const status = (await ask('GET', `${VM}/status/current`)).json.data as Record<string, unknown>;
      const resources = (await ask('GET', '/cluster/resources')).json.data as { id: string }[];
      const storages = (await ask('GET', '/nodes/pve1/storage', { format: '1' })).json.data as { formats?: unknown }[];
      return {
        memhost: 'memhost' in status,
        pressure: 'pressurecpusome' in status,
        zones: resources.map(({ id }) => id).filter((id) => id.includes('localnetwork')),
        formats: storages.some(({ formats }) => formats !== undefined),
      };
    };
    expect(await fields('8.4')).toEqual({
      memhost: false,
      pressure: false,
      zones: ['sdn/pve1/localnetwork', 'sdn/pve2/localnetwork'],
      formats: false,
    });
    expect(await fields('9.1')).toEqual({
      memhost: true,
      pressure: true,
      zones: ['network/pve1/zone/localnetwork', 'network/pve2/zone/localnetwork'],
      formats: true,
    });
  });

  it('to an import refuse it before 8.3', async () => {
    const disk = { vmid: '800', scsi0: 'nfs:0,import-from=local:import/a.qcow2' };
    expect((await serverOf('8.2').ask('POST', '/nodes/pve1/qemu', disk)).reason).toBe(
      "unable to parse directory volume name 'import/a.qcow2'",
    );
    const iso = { vmid: '800', scsi0: 'nfs:0,import-from=local:iso/a.iso' };
    expect((await serverOf('8.2').ask('POST', '/nodes/pve1/qemu', iso)).json.errors).toEqual({
      scsi0: "local:iso/a.iso has wrong type 'iso' - not an image",
    });
    expect(() => buildWorld({ ...DEFAULT_WORLD, version: '8.2' }, { now: 0 })).toThrow(
      /"import" before Proxmox VE 8\.3/,
    );
  });

  it('to a request for something newer match a server without it', async () => {
    const { ask } = serverOf('8.0');
    expect(await ask('PUT', '/pools', { poolid: 'lab', comment: 'x' })).toMatchObject({
      status: 501,
      reason: "Method 'PUT /pools' not implemented",
    });
    expect((await ask('PUT', '/pools/lab', { comment: 'x' })).status).toBe(200);
  });
});
