import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../base/errors.ts';
import type { Pve } from '../client.ts';
import { errorOf, ok, testClient } from '../testing/client.ts';

const UPID = 'UPID:pve1:0000C8A1:0001E0F2:6A0B1C2D:qmclone:9000:deploy@pve!ci:';

/** Every read of the client, with a response as a real PVE 9.2 sends it. */
const reads: [string, (pve: Pve) => Promise<unknown>, unknown][] = [
  [
    '/nodes',
    (pve) => pve.nodes(),
    [{ status: 'online', node: 'pve1', type: 'node', id: 'node/pve1', maxcpu: 2, cpu: 0.015, level: '' }],
  ],
  [
    '/nodes/pve1/status',
    (pve) => pve.node('pve1').status(),
    {
      uptime: 3726,
      memory: { total: 25276518400, used: 1017032704, free: 1 },
      cpuinfo: { cpus: 2, model: 'AMD EPYC', flags: 'fpu' },
    },
  ],
  ['/nodes/pve1/version', (pve) => pve.node('pve1').version(), { version: '9.2.11', repoid: '14a2', release: '9.2' }],
  [
    '/nodes/pve1/network?type=any_bridge',
    (pve) => pve.node('pve1').network({ type: 'any_bridge' }),
    [{ method: 'manual', active: 1, type: 'bridge', iface: 'vmbr1', bridge_fd: '0', families: ['inet'] }],
  ],
  [
    '/nodes/pve1/hardware/pci',
    (pve) => pve.node('pve1').pciDevices(),
    [{ class: '0xffff00', device: '0x1045', vendor: '0x1af4', id: '0000:00:01.0', iommugroup: -1 }],
  ],
  [
    '/nodes/pve1/qemu',
    (pve) => pve.node('pve1').vms.list(),
    [{ vmid: 9100, status: 'stopped', serial: 1, cpu: 0, template: 1, name: 'debian-agent-tpl', maxmem: 536870912 }],
  ],
  [
    '/nodes/pve1/qemu/100/config?current=1',
    (pve) => pve.node('pve1').vm(100).config.get({ current: true }),
    { digest: 'ebc2adcb', memory: '256', cores: 1, net0: 'virtio=BC:24:11:86:CC:56,bridge=vmbr0' },
  ],
  [
    '/nodes/pve1/qemu/100/pending',
    (pve) => pve.node('pve1').vm(100).pending(),
    [
      { key: 'onboot', value: 0 },
      { key: 'memory', value: '256', pending: '512' },
      { key: 'balloon', value: 0, delete: 1 },
    ],
  ],
  [
    '/nodes/pve1/qemu/9000/status/current',
    (pve) => pve.node('pve1').vm(9000).status.current(),
    {
      vmid: 9000,
      status: 'stopped',
      qmpstatus: 'stopped',
      ha: { managed: 0 },
      agent: 1,
      clipboard: null,
      template: 1,
      uptime: 0,
    },
  ],
  [
    '/nodes/pve1/qemu/100/snapshot',
    (pve) => pve.node('pve1').vm(100).snapshots.list(),
    [{ name: 'current', description: 'You are here!', digest: 'ebc2', running: 0 }],
  ],
  [
    '/nodes/pve1/qemu/100/cloudinit/dump?type=meta',
    (pve) => pve.node('pve1').vm(100).cloudinit.dump('meta'),
    'instance-id: 1\n',
  ],
  [
    '/nodes/pve1/qemu/100/feature?feature=clone',
    (pve) => pve.node('pve1').vm(100).feature('clone'),
    { hasFeature: 1, nodes: ['pve1'] },
  ],
  [
    '/nodes/pve1/qemu/420/agent/network-get-interfaces',
    (pve) => pve.node('pve1').vm(420).agent.networkGetInterfaces(),
    {
      result: [
        {
          name: 'eth0',
          'hardware-address': 'bc:24:11:00:04:20',
          'ip-addresses': [{ 'ip-address': '10.99.0.162', 'ip-address-type': 'ipv4', prefix: 24 }],
        },
        { name: 'sit0' },
      ],
    },
  ],
  [
    '/nodes/pve1/qemu/420/agent/get-osinfo',
    (pve) => pve.node('pve1').vm(420).agent.getOsinfo(),
    {
      result: {
        id: 'debian',
        name: 'Debian GNU/Linux',
        'pretty-name': 'Debian GNU/Linux 13 (trixie)',
        'version-id': '13',
      },
    },
  ],
  [
    '/nodes/pve1/qemu/420/agent/get-host-name',
    (pve) => pve.node('pve1').vm(420).agent.getHostName(),
    { result: { 'host-name': 'guest-a' } },
  ],
  [
    '/nodes/pve1/qemu/420/agent/exec-status?pid=7',
    (pve) => pve.node('pve1').vm(420).agent.execStatus(7),
    { exitcode: 0, exited: 1, 'out-data': 'hello world\n', 'out-truncated': 0 },
  ],
  [
    '/nodes/pve1/qemu/420/agent/file-read?file=%2Fetc%2Fhostname',
    (pve) => pve.node('pve1').vm(420).agent.fileRead('/etc/hostname'),
    { 'bytes-read': 8, content: 'guest-a\n' },
  ],
  [
    '/nodes/pve1/storage?content=images',
    (pve) => pve.node('pve1').storages.list({ content: 'images' }),
    [
      {
        content: 'images',
        used_fraction: 0,
        avail: 67108864,
        type: 'dir',
        total: 67108864,
        enabled: 1,
        storage: 'tiny',
        shared: 0,
        active: 1,
      },
    ],
  ],
  [
    '/nodes/pve1/storage/local/status',
    (pve) => pve.node('pve1').storage('local').status(),
    { used: 1, active: 1, shared: 0, avail: 2, content: 'vztmpl,images', type: 'dir', total: 3, enabled: 1 },
  ],
  [
    '/nodes/pve1/storage/local/content?vmid=100',
    (pve) => pve.node('pve1').storage('local').content.list({ vmid: 100 }),
    [
      {
        size: 1073741824,
        used: 4096,
        format: 'raw',
        vmid: 100,
        volid: 'local:100/vm-100-disk-0.raw',
        content: 'images',
        parent: null,
      },
    ],
  ],
  [
    '/nodes/pve1/tasks?source=all&vmid=9000',
    (pve) => pve.node('pve1').tasks.list({ source: 'all', vmid: 9000 }),
    [
      {
        upid: UPID,
        node: 'pve1',
        type: 'qmclone',
        id: '9000',
        user: 'root@pam!test',
        starttime: 1794768815,
        status: 'RUNNING',
        saved: '0',
      },
    ],
  ],
  ['/cluster/nextid', (pve) => pve.cluster.nextid(), '101'],
  ['/cluster/nextid?vmid=101', (pve) => pve.cluster.assertFree(101), '101'],
  [
    '/cluster/resources?type=vm',
    (pve) => pve.cluster.resources({ type: 'vm' }),
    [{ status: 'unknown', vmid: 100, id: 'qemu/100', type: 'qemu', node: 'pve1' }],
  ],
  [
    '/cluster/status',
    (pve) => pve.cluster.status(),
    [{ level: '', local: 1, id: 'node/pve1', name: 'pve1', nodeid: 0, type: 'node', online: 1 }],
  ],
  ['/cluster/options', (pve) => pve.cluster.options(), { mac_prefix: 'BC:24:11', description: '', 'allowed-tags': [] }],
  [
    '/cluster/mapping/pci?check-node=pve1',
    (pve) => pve.cluster.mapping.pci({ 'check-node': 'pve1' }),
    [
      {
        checks: [{ message: 'Invalid', severity: 'error' }],
        digest: 'd',
        id: 'gpu',
        map: ['node=pve1,path=0000:00:02.0'],
        type: 'pci',
      },
    ],
  ],
  [
    '/cluster/ha/resources?type=vm',
    (pve) => pve.cluster.ha.list(),
    [{ sid: 'vm:100', state: 'started', type: 'vm', digest: 'd' }],
  ],
  [
    '/access/permissions?path=%2Fvms%2F101',
    (pve) => pve.access.permissions({ path: '/vms/101' }),
    { '/vms/101': { 'VM.Audit': 1 } },
  ],
  [
    '/access/roles',
    (pve) => pve.access.roles(),
    [
      { roleid: 'PVESDNUser', privs: 'SDN.Use,SDN.Audit', special: 1 },
      { roleid: 'NoAccess', privs: '' },
    ],
  ],
  [
    '/access/acl',
    (pve) => pve.access.acl(),
    [{ roleid: 'PVEAdmin', ugid: 'a@pve', path: '/', type: 'user', propagate: 1 }],
  ],
  [
    '/access/users/root%40pam/token',
    (pve) => pve.access.tokens('root@pam'),
    [{ privsep: 0, tokenid: 'test', expire: 0 }],
  ],
  [
    '/nodes/pve1/capabilities/qemu/cpu',
    (pve) => pve.node('pve1').cpuModels(),
    [{ name: 'x86-64-v3', vendor: 'default', custom: 0, abstract: 1 }],
  ],
  ['/pools', (pve) => pve.pools.list(), [{ poolid: 'team/dev', comment: 'x' }]],
  [
    '/pools?poolid=team%2Fdev',
    (pve) => pve.pools.get('team/dev'),
    [{ poolid: 'team/dev', members: [{ id: 'qemu/100', type: 'qemu', vmid: 100 }] }],
  ],
  [
    '/storage',
    (pve) => pve.storage.list(),
    [{ digest: '7211', path: '/srv/tiny', storage: 'tiny', content: 'images', type: 'dir' }],
  ],
  [
    '/storage/local',
    (pve) => pve.storage.get('local'),
    { path: '/var/lib/vz', storage: 'local', content: 'iso', type: 'dir' },
  ],
];

describe('a handle', () => {
  it('sends no request when it is created', () => {
    const { pve, transport } = testClient(() => ok(null));
    const vm = pve.node('pve1').vm(101);
    expect([vm.config, vm.status, vm.agent, pve.node('pve1').storage('local').content]).toHaveLength(4);
    expect(transport.requests).toHaveLength(0);
  });

  it.each(reads)('reads %s', async (target, read, answer) => {
    const { clock, pve, transport } = testClient(() => ok(answer));
    await clock.run(() => read(pve));
    expect(transport.lines()[1]).toBe(`GET ${target}`);
  });

  it('decodes known keys and keeps unknown ones', async () => {
    const { clock, pve } = testClient(() =>
      ok([{ vmid: '100', status: 'running', template: '0', uptime: '17', novelty: { a: 1 } }]),
    );
    const [entry] = await clock.run(() => pve.node('pve1').vms.list());
    expect(entry).toMatchObject({ vmid: 100, template: false, uptime: 17, novelty: { a: 1 } });
  });

  it('sorts lists that the server sends in random order', async () => {
    const { clock, pve } = testClient(() => ok({ storage: 'local', type: 'dir', content: 'vztmpl,iso,backup' }));
    expect((await clock.run(() => pve.storage.get('local'))).content).toEqual(['backup', 'iso', 'vztmpl']);
  });

  it('starts tasks with exactly the path and method of the API', async () => {
    const { clock, pve, transport } = testClient(() => ok(UPID));
    const vm = pve.node('pve1').vm(101);
    await clock.run(async () => {
      await pve.node('pve1').vms.create({ vmid: 101, name: 'a', cores: 2 });
      await vm.config.post({ scsi1: 'local:4' });
      await vm.moveDisk({ disk: 'scsi0', storage: 'tank', delete: true });
      await vm.template();
      await vm.migrate({ target: 'pve2', online: true });
      await vm.status.start();
      await vm.status.stop({ 'overrule-shutdown': true });
      await vm.status.shutdown({ timeout: 60, forceStop: true });
      await vm.status.reboot();
      await vm.status.reset();
      await vm.snapshots.create({ snapname: 'before' });
      await vm.snapshots.rollback('before');
      await vm.snapshots.delete('before');
      await pve
        .node('pve1')
        .storage('local')
        .downloadUrl({ url: 'https://x/y', content: 'import', filename: 'y.qcow2' });
    });
    const bodies = transport.requests.map(({ body }) => (body === undefined ? '' : ` ${String(body)}`));
    expect(
      transport
        .lines()
        .map((line, i) => line + bodies[i])
        .slice(1),
    ).toEqual([
      'POST /nodes/pve1/qemu vmid=101&name=a&cores=2',
      'POST /nodes/pve1/qemu/101/config scsi1=local%3A4',
      'POST /nodes/pve1/qemu/101/move_disk disk=scsi0&storage=tank&delete=1',
      'POST /nodes/pve1/qemu/101/template ',
      'POST /nodes/pve1/qemu/101/migrate target=pve2&online=1',
      'POST /nodes/pve1/qemu/101/status/start ',
      'POST /nodes/pve1/qemu/101/status/stop overrule-shutdown=1',
      'POST /nodes/pve1/qemu/101/status/shutdown timeout=60&forceStop=1',
      'POST /nodes/pve1/qemu/101/status/reboot ',
      'POST /nodes/pve1/qemu/101/status/reset ',
      'POST /nodes/pve1/qemu/101/snapshot snapname=before',
      'POST /nodes/pve1/qemu/101/snapshot/before/rollback ',
      'DELETE /nodes/pve1/qemu/101/snapshot/before',
      'POST /nodes/pve1/storage/local/download-url url=https%3A%2F%2Fx%2Fy&content=import&filename=y.qcow2',
    ]);
  });

  it('makes changes through the calls that start no task', async () => {
    const { clock, pve, transport } = testClient(() => ok(null));
    await clock.run(async () => {
      await pve.node('pve1').vm(101).config.put({ delete: 'net1', digest: 'd' });
      await pve
        .node('pve1')
        .vm(101)
        .unlink({ idlist: ['unused0', 'unused1'], force: true });
      await pve.node('pve1').vm(101).cloudinit.regenerate();
      await pve.cluster.mapping.createPci({
        id: 'gpu',
        map: ['node=pve1,path=0000:01:00', 'node=pve2,path=0000:02:00'],
      });
      await pve.cluster.ha.create(101, { state: 'started' });
      await pve.cluster.ha.delete(101);
      await pve.pools.removeVms('team/dev', [101, 102]);
    });
    const bodies = transport.requests.map(({ body }) => (body === undefined ? '' : ` ${String(body)}`));
    expect(
      transport
        .lines()
        .map((line, i) => line + bodies[i])
        .slice(1),
    ).toEqual([
      'PUT /nodes/pve1/qemu/101/config delete=net1&digest=d',
      'PUT /nodes/pve1/qemu/101/unlink idlist=unused0%2Cunused1&force=1',
      'PUT /nodes/pve1/qemu/101/cloudinit ',
      'POST /cluster/mapping/pci id=gpu&map=node%3Dpve1%2Cpath%3D0000%3A01%3A00&map=node%3Dpve2%2Cpath%3D0000%3A02%3A00',
      'POST /cluster/ha/resources sid=vm%3A101&state=started',
      'DELETE /cluster/ha/resources/vm%3A101',
      'PUT /pools poolid=team%2Fdev&vms=101%2C102&delete=1',
    ]);
  });

  it('throws an error that the guest agent reports with status 200', async () => {
    const hidden = {
      result: { error: { class: 'CommandNotFound', desc: 'The command guest-get-osinfo has not been found' } },
    };
    const { clock, pve } = testClient(() => ok(hidden));
    const error = await errorOf(clock, () => pve.node('pve1').vm(101).agent.getOsinfo());
    expect(error.diagnostic.detail).toContain('guest-get-osinfo has not been found');
  });

  it('succeeds or throws a ProxwrightError, whatever the server sends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...reads), fc.jsonValue(), async ([, read], data) => {
        const { clock, pve } = testClient(() => ok(data));
        const thrown = await clock.run(() =>
          read(pve).then(
            () => undefined,
            (error: unknown) => error,
          ),
        );
        expect(thrown === undefined || thrown instanceof ProxwrightError).toBe(true);
        if (thrown instanceof ProxwrightError) expect(thrown.code).toMatch(/^(BAD_ANSWER|SERVER_FAULT)$/);
      }),
      { numRuns: 300 },
    );
  });
});
