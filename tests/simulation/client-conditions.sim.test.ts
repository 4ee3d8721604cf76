/** What the client reports when the cluster is busy, full or silent, or when another client is faster. */
import { describe, expect, it } from 'vitest';

import { isLockContention } from '../../src/pve/index.ts';
import { AGENT_TEMPLATE, type ClientScene, clientScene, ROOT, TEMPLATE, VM } from './support/client-scene.ts';

const PUT = `PUT /nodes/pve1/qemu/${VM}/config`;

describe('a lock in the answer', () => {
  it('only delays the answer if the configuration file is locked for a few seconds', async () => {
    const scene = clientScene([{ kind: 'lock', match: { path: 'config' }, at: 1, for_ms: 5_000 }]);
    await scene.run(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(scene.setting(VM, 'cores')).toBe('2');
    expect(scene.sent(PUT)).toBe(1);
  });

  it('says that another client holds the configuration file, and that nothing was changed, if it lasts longer', async () => {
    const scene = clientScene([{ kind: 'lock', match: { path: 'config' }, at: 1, for_ms: 60_000 }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('CONFIG_LOCKED');
    expect(isLockContention(error)).toBe(true);
    expect(scene.sent(PUT)).toBe(1);
    expect(scene.setting(VM, 'cores')).toBe('1');
  });

  it('names what holds the lock of a VM', async () => {
    const scene = clientScene([{ kind: 'stranger-lock', lock: 'snapshot', at: 1, for_ms: 20_000 }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('GUEST_LOCKED');
    expect(error.diagnostic.detail).toContain('VM is locked (snapshot)');
    await scene.run(async () => {
      await scene.clock.sleep(20_000);
      await scene.vm(VM).config.put({ cores: 2 });
    });
    expect(scene.setting(VM, 'cores')).toBe('2');
  });

  it('says that another client holds the lock of users and pools', async () => {
    const scene = clientScene([{ kind: 'users-lock', at: 1, for_ms: 60_000 }]);
    const error = await scene.failure(() => scene.pve.pools.create({ poolid: 'lab' }));
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('CLUSTER_LOCKED');
    expect(scene.world.pools.has('lab')).toBe(false);
  });
});

describe('a destroy that meets a lock half-way', () => {
  it('leaves a rest that no token can remove, says so, and root with a password can', async () => {
    const scene = clientScene([{ kind: 'users-lock', match: { method: 'DELETE' }, at: 1, for_ms: 60_000 }]);
    const destroy = async () => scene.pve.tasks.wait(await scene.vm(VM).destroy());
    expect(await scene.failure(destroy)).toMatchObject({ code: 'CLUSTER_LOCKED' });
    expect(scene.setting(VM, 'lock')).toBe('destroyed');
    await scene.clock.advance(60_000);
    const again = await scene.failure(destroy);
    expect(again.code).toBe('GUEST_LOCKED');
    expect(again.diagnostic.hint?.text).toContain('Only root');
    const asToken = await scene.failure(() => scene.vm(VM).destroy({ skiplock: true }));
    expect(asToken.code).toBe('ROOT_ONLY');
    const root = scene.loginAs(ROOT);
    await scene.run(async () => root.tasks.wait(await root.node('pve1').vm(VM).destroy({ skiplock: true })));
    expect(scene.world.vms.has(VM)).toBe(false);
  });
});

describe('a full storage', () => {
  it('is named as such, with the words of the daemon that met it', async () => {
    const scene = clientScene([{ kind: 'disk-full', storage: 'local', at: 1, for_ms: 120_000 }]);
    const error = await scene.failure(async () =>
      scene.pve.tasks.wait(await scene.vm(TEMPLATE).clone({ newid: 300, full: true })),
    );
    expect(error).toMatchObject({ family: 'api' });
    expect(error.code).toBe('NO_SPACE');
    expect(error.diagnostic.detail).toContain('No space left on device');
    expect(error.diagnostic.hint?.text).toContain('Free space');
    expect(scene.world.vms.has(300)).toBe(false);
  });
});

describe('a guest agent', () => {
  async function runningGuest(scene: ClientScene): Promise<void> {
    await scene.run(async () => {
      await scene.pve.tasks.wait(await scene.vm(AGENT_TEMPLATE).clone({ newid: 300, full: true }));
      await scene.pve.tasks.wait(await scene.vm(300).status.start());
      await scene.clock.sleep(60_000);
    });
  }

  it('costs 3 s while it is silent and is reported as unavailable, until it answers again', async () => {
    const scene = clientScene([{ kind: 'agent-silent', at: 2, for_ms: 20_000 }]);
    await runningGuest(scene);
    await scene.run(() => scene.vm(300).agent.ping());
    const askedAt = scene.clock.now();
    const error = await scene.failure(() => scene.vm(300).agent.ping());
    expect(error).toMatchObject({ family: 'api' });
    expect(error.code).toBe('AGENT_UNAVAILABLE');
    expect(scene.clock.now() - askedAt).toBeGreaterThanOrEqual(3_000);
    expect(scene.clock.now() - askedAt).toBeLessThan(4_000);
    expect(scene.sent('/agent/ping')).toBe(2);
    await scene.run(async () => {
      await scene.clock.sleep(20_000);
      await scene.vm(300).agent.ping();
    });
  });

  it('is asked again if a ping is lost on the way, because a ping changes nothing', async () => {
    const scene = clientScene([{ kind: 'cut-before', match: { path: 'agent/ping' }, at: 1 }]);
    await runningGuest(scene);
    await scene.run(() => scene.vm(300).agent.ping());
    expect(scene.sent('/agent/ping')).toBe(2);
  });

  it('is not told twice to run a program if the request is lost on the way', async () => {
    const scene = clientScene([{ kind: 'cut-after', match: { path: 'agent/exec' }, at: 1 }]);
    await runningGuest(scene);
    const error = await scene.failure(() => scene.vm(300).agent.exec(['/bin/true']));
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect(scene.sent('/agent/exec')).toBe(1);
    expect(scene.world.vms.get(300)?.process?.executions.size).toBe(1);
  });
});

describe('a stranger', () => {
  it('is noticed by the digest if it edits the configuration first', async () => {
    const scene = clientScene([{ kind: 'stranger-edit', set: { cores: '7' }, match: { method: 'PUT' }, at: 1 }]);
    const error = await scene.failure(async () => {
      const { digest } = await scene.vm(VM).config.get();
      await scene.vm(VM).config.put({ memory: 512, digest });
    });
    expect(error).toMatchObject({ family: 'conflict' });
    expect(error.code).toBe('CONFIG_CHANGED');
    expect(scene.setting(VM, 'cores')).toBe('7');
    expect(scene.setting(VM, 'memory')).toBe('256');
  });

  it('is noticed by the digest, in the task, if it edits the VM before a resize', async () => {
    const scene = clientScene([{ kind: 'stranger-edit', match: { path: 'resize' }, at: 1 }]);
    const error = await scene.failure(async () => {
      const { digest } = await scene.vm(VM).config.get();
      await scene.pve.tasks.wait(await scene.vm(VM).resize({ disk: 'scsi0', size: '2G', digest }));
    });
    expect(error).toMatchObject({ family: 'conflict' });
    expect(error.code).toBe('CONFIG_CHANGED');
    expect(scene.setting(VM, 'scsi0')).toContain('size=1G');
  });

  it('is noticed if it takes the id first, and its VM is left alone', async () => {
    const scene = clientScene([{ kind: 'stranger-id', at: 1 }]);
    const error = await scene.failure(async () => {
      const newid = await scene.pve.cluster.nextid();
      await scene.pve.tasks.wait(await scene.vm(TEMPLATE).clone({ newid, name: 'ours' }));
    });
    expect(error).toMatchObject({ family: 'conflict' });
    expect(error.code).toBe('VMID_TAKEN');
    expect(scene.setting(101, 'name')).toBe('another-clients-101');
    expect(await scene.run(() => scene.pve.cluster.nextid())).toBe(102);
  });

  it('is noticed if it takes the id of a new VM first', async () => {
    const scene = clientScene([{ kind: 'stranger-id', at: 1 }]);
    const error = await scene.failure(async () =>
      scene.pve.tasks.wait(await scene.pve.node('pve1').vms.create({ vmid: 300, name: 'ours' })),
    );
    expect(error).toMatchObject({ family: 'conflict' });
    expect(error.code).toBe('VMID_TAKEN');
    expect(scene.setting(300, 'name')).toBe('another-clients-300');
  });
});
