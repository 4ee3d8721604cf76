/** What the client reads, and how it tells a refusal: nothing on the server changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../src/base/errors.ts';
import { fingerprintTrust, isNotFound, isUpid, tokenFrom } from '../../src/pve/index.ts';
import { Account } from './account.ts';
import { type AcceptanceServer, openServer } from './server.ts';

const account = new Account();
let server: AcceptanceServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(async () => {
  account.print();
  await server.close();
});

describe('a client that only reads', () => {
  it('proves its credentials and learns the version', async () => {
    const version = await server.pve.authenticate();
    expect(version.major).toBeGreaterThanOrEqual(8);
    account.checked(`version ${version.version} as ${server.pve.principal}`);
  });

  it('learns what it may do', async () => {
    const permissions = await server.pve.access.permissions();
    const paths = Object.keys(permissions);
    for (const path of paths) expect(path).toMatch(/^\//);
    for (const granted of Object.values(permissions)) {
      for (const propagates of Object.values(granted)) expect(typeof propagates).toBe('boolean');
    }
    account.checked(`permissions on ${paths.length} paths`);
  });

  it('lists the nodes', async () => {
    const nodes = await server.pve.nodes();
    expect(nodes.map(({ status }) => status)).toContain('online');
    account.checked(`nodes: ${nodes.map(({ node, status }) => `${node} (${status})`).join(', ')}`);
  });

  it('lists the storages of a node with what they hold', async (context) => {
    const node = (await server.pve.nodes()).find(({ status }) => status === 'online');
    if (!node) return account.skip(context, 'storages', 'no node is online');
    const storages = await server.pve.node(node.node).storages.list();
    if (storages.length === 0) return account.skip(context, 'storages', 'the token may see none (Datastore.Audit)');
    for (const { storage, content, active, total, used } of storages) {
      expect(storage).not.toBe('');
      expect(content).toEqual([...content].sort());
      if (active) expect(used ?? 0).toBeLessThanOrEqual(total ?? 0);
    }
    account.checked(`storages: ${storages.map(({ storage }) => storage).join(', ')}`);
  });

  it('gets the same VMs from a node as the node has', async () => {
    const nodes = (await server.pve.nodes()).filter(({ status }) => status === 'online');
    const lists = await Promise.all(nodes.map(({ node }) => server.pve.node(node).vms.list()));
    const vmids = lists.flat().map(({ vmid }) => vmid);
    expect(new Set(vmids).size).toBe(vmids.length);
    account.checked(`${vmids.length} VMs are visible`);
  });
});

describe('a client that is refused', () => {
  it('says that a secret is wrong', async () => {
    const stranger = server.connect({ credentials: tokenFrom('nobody@pve!none', '0'.repeat(8)) });
    await expect(stranger.authenticate()).rejects.toMatchObject({ code: 'LOGIN_REFUSED' });
    account.checked('a wrong token is LOGIN_REFUSED');
  });

  it('does not speak to a server whose certificate is another one', async () => {
    const stranger = server.connect({ trust: fingerprintTrust('00'.repeat(32)) });
    await expect(stranger.authenticate()).rejects.toMatchObject({ code: 'CERT_UNTRUSTED' });
    account.checked('another fingerprint is CERT_UNTRUSTED');
  });

  it('tells a task that never was from a server that fails', async () => {
    const [node] = await server.pve.nodes();
    const upid = `UPID:${node?.node}:00000001:00000001:00000001:qmstart:100:${server.pve.principal}:`;
    if (!isUpid(upid)) throw new Error(`${upid} is not even well-formed`);
    await expect(server.pve.tasks.wait(upid, { timeoutMs: 60_000 })).rejects.toMatchObject({ code: 'TASK_VANISHED' });
    account.checked('an unknown task is TASK_VANISHED');
  });

  it('tells a VM that is not there', async (context) => {
    const [node] = await server.pve.nodes();
    const failure: unknown = await server.pve
      .node(node?.node ?? '')
      .vm(999_999_999)
      .config.get()
      .catch((error: unknown) => error);
    if (failure instanceof ProxwrightError && failure.code === 'PRIVILEGE_MISSING') {
      return account.skip(context, 'a VM that is not there', 'the token may not look (VM.Audit on /vms)');
    }
    expect(isNotFound(failure, 'guest')).toBe(true);
    account.checked('an unknown VM is NOT_FOUND');
  });
});
