/**
 * The life of one small VM, step by step. It is empty and never started, so it costs a server next to nothing. Steps that
 * the token may not take are skipped, and so is everything after a creation that failed; the VM is removed in any case.
 */
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { equalTags, isNotFound, parseSize } from '../../src/pve/index.ts';
import { Account } from './account.ts';
import { chooseOwnVm, missingOn, type OwnVm, removeOwnVm } from './own-vm.ts';
import { type AcceptanceServer, openServer } from './server.ts';

const NEEDED = ['VM.Allocate', 'VM.Audit', 'VM.Config.Options', 'VM.Config.Memory', 'VM.Config.CPU'];
const DISK_NEEDED = ['VM.Config.Disk', 'VM.Config.HWType'];
const MIB = 1024 ** 2;

const account = new Account();
let server: AcceptanceServer;
let own: OwnVm | undefined;
/** From the moment the server was asked to make it: the answer may be lost and the VM be there. */
let mayExist = false;
let exists = false;
let storage: string | undefined;

beforeAll(async () => {
  server = await openServer();
  own = await chooseOwnVm(server.pve);
});

afterAll(async () => {
  try {
    if (own && mayExist) account.checked(`cleaning up: ${await removeOwnVm(server.pve, own)}`);
  } finally {
    account.print();
    await server?.close();
  }
});

/** The VM, for a step that needs it. */
function ours(context: TestContext, step: string): OwnVm {
  return own && exists ? own : account.skip(context, step, 'there is no VM of ours to do it with');
}

describe('a client with a VM of its own', () => {
  it('creates it', async (context) => {
    if (!own) return account.skip(context, 'create', 'no node or no id was found for it');
    const { vmid, node, marker } = own;
    const missing = await missingOn(server.pve, `/vms/${vmid}`, NEEDED);
    if (missing.length > 0) return account.skip(context, 'create', `the token lacks ${missing.join(', ')}`);
    mayExist = true;
    const upid = await server.pve
      .node(node)
      .vms.create({ vmid, name: 'proxwright-acceptance', memory: 64, cores: 1, description: marker });
    const result = await server.pve.tasks.wait(upid);
    expect(result.outcome).toBe('ok');
    exists = true;
    account.checked(`created VM ${vmid} on ${node}`);
  });

  it('reads back what it wrote', async (context) => {
    const { vm, marker } = ours(context, 'read back');
    const { values, digest } = await vm.config.get();
    expect(digest).toMatch(/^[0-9a-f]{40}$/);
    expect(values.get('name')).toBe('proxwright-acceptance');
    expect(values.get('memory')).toBe('64');
    expect(values.get('cores')).toBe('1');
    expect(values.get('description')).toBe(marker);
    account.checked('the configuration reads back');
  });

  it('reports that the id is taken', async (context) => {
    const { vmid } = ours(context, 'a taken id');
    await expect(server.pve.cluster.assertFree(vmid)).rejects.toMatchObject({ code: 'VMID_TAKEN' });
    account.checked('a taken id is VMID_TAKEN');
  });

  it('changes it at once', async (context) => {
    const { vm } = ours(context, 'PUT');
    await vm.config.put({ memory: 96, onboot: false });
    expect((await vm.config.get()).values.get('memory')).toBe('96');
    account.checked('a change by PUT');
  });

  it('changes it as a task', async (context) => {
    const { vm } = ours(context, 'POST');
    const upid = await vm.config.post({ cores: 2 });
    if (upid) await server.pve.tasks.wait(upid);
    expect((await vm.config.get()).values.get('cores')).toBe('2');
    account.checked('a change by POST, as a task');
  });

  it('leaves the digest alone when it says the same again', async (context) => {
    const { vm } = ours(context, 'the same again');
    const before = (await vm.config.get()).digest;
    await vm.config.put({ cores: 2, memory: 96 });
    expect((await vm.config.get()).digest).toBe(before);
    account.checked('the same again changes nothing');
  });

  it('removes a key', async (context) => {
    const { vm } = ours(context, 'delete a key');
    await vm.config.put({ delete: 'onboot' });
    expect((await vm.config.get()).values.has('onboot')).toBe(false);
    account.checked('a key is deleted');
  });

  it('is refused when another client was faster', async (context) => {
    const { vm } = ours(context, 'digest');
    const stale = (await vm.config.get()).digest;
    await vm.config.put({ memory: 128 });
    await expect(vm.config.put({ memory: 160, digest: stale })).rejects.toMatchObject({ code: 'CONFIG_CHANGED' });
    expect((await vm.config.get()).values.get('memory')).toBe('128');
    account.checked('a stale digest is CONFIG_CHANGED, and nothing changed');
  });

  it('is refused with the name of the parameter', async (context) => {
    const { vm } = ours(context, 'a wrong parameter');
    await expect(vm.config.put({ cores: 0 })).rejects.toMatchObject({
      code: 'PARAMETER_REJECTED',
      message: expect.stringContaining('cores'),
    });
    account.checked('a wrong parameter is PARAMETER_REJECTED and named');
  });

  it('sets tags, whatever their order', async (context) => {
    const { vm } = ours(context, 'tags');
    await vm.config.put({ tags: 'proxwright;acceptance' });
    const tags = (await vm.config.get()).values.get('tags') ?? '';
    expect(equalTags(tags, 'acceptance;proxwright')).toBe(true);
    account.checked(`tags read back as ${tags}`);
  });

  it('adds a disk', async (context) => {
    const { vm, vmid, node } = ours(context, 'add a disk');
    const missing = await missingOn(server.pve, `/vms/${vmid}`, DISK_NEEDED);
    if (missing.length > 0) return account.skip(context, 'add a disk', `the token lacks ${missing.join(', ')}`);
    const candidates = await server.pve.node(node).storages.list({ content: 'images', enabled: true });
    for (const candidate of candidates) {
      if (!candidate.active || (candidate.avail ?? 0) < 1024 * MIB) continue;
      const lacking = await missingOn(server.pve, `/storage/${candidate.storage}`, ['Datastore.AllocateSpace']);
      if (lacking.length > 0) continue;
      storage = candidate.storage;
      break;
    }
    if (storage === undefined) {
      return account.skip(context, 'add a disk', 'no storage for images with room and Datastore.AllocateSpace');
    }
    const upid = await vm.config.post({ scsi0: `${storage}:0.125` });
    if (upid) await server.pve.tasks.wait(upid);
    expect(await diskBytes(vm)).toBeGreaterThanOrEqual(128 * MIB);
    account.checked(`a disk on ${storage}`);
  });

  it('grows the disk, and asking twice is harmless', async (context) => {
    const { vm } = ours(context, 'grow the disk');
    if (storage === undefined) return account.skip(context, 'grow the disk', 'there is none');
    await server.pve.tasks.wait(await vm.resize({ disk: 'scsi0', size: '1G' }));
    await server.pve.tasks.wait(await vm.resize({ disk: 'scsi0', size: '1G' }));
    expect(await diskBytes(vm)).toBe(1024 * MIB);
    account.checked('the disk grew to 1G');
  });

  it('has nothing pending, because the VM is not running', async (context) => {
    const { vm } = ours(context, 'pending');
    const pending = await vm.pending();
    expect(pending.find(({ key }) => key === 'memory')?.value).toBe('128');
    expect(pending.filter((entry) => entry.pending !== undefined || entry.delete !== undefined)).toEqual([]);
    account.checked('nothing is pending');
  });

  it('sees it in the list of the node', async (context) => {
    const { vmid, node } = ours(context, 'list');
    const entry = (await server.pve.node(node).vms.list()).find((each) => each.vmid === vmid);
    expect(entry).toMatchObject({ status: 'stopped', name: 'proxwright-acceptance' });
    account.checked('the list of the node shows it');
  });

  it('destroys it with everything it had', async (context) => {
    const { vm, vmid, node } = ours(context, 'destroy');
    await server.pve.tasks.wait(await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true }));
    exists = false;
    const gone: unknown = await vm.config.get().catch((error: unknown) => error);
    expect(isNotFound(gone, 'guest')).toBe(true);
    await server.pve.cluster.assertFree(vmid);
    if (storage !== undefined) {
      const volumes = await server.pve.node(node).storage(storage).content.list({ content: 'images', vmid });
      expect(volumes).toEqual([]);
    }
    account.checked('destroyed; id and volumes are free');
  });
});

async function diskBytes(vm: OwnVm['vm']): Promise<number | undefined> {
  const drive = (await vm.config.get()).values.get('scsi0') ?? '';
  return parseSize(/(?:^|,)size=([^,]+)/.exec(drive)?.[1] ?? '');
}
