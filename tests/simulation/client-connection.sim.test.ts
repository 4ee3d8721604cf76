/** How the client handles a connection, a proxy or a login that fails: it never does anything twice. */
import { describe, expect, it } from 'vitest';

import { isNotExecuted, isOutcomeUnknown } from '../../src/pve/index.ts';
import { clientScene, ROOT, TEMPLATE, VM } from './support/client-scene.ts';

const CLONE = `POST /nodes/pve1/qemu/${TEMPLATE}/clone`;
const PUT = `PUT /nodes/pve1/qemu/${VM}/config`;
const GET = `GET /nodes/pve1/qemu/${VM}/config`;

describe('a connection that is cut', () => {
  it('is not noticed before a read arrives: the read is repeated', async () => {
    const scene = clientScene([{ kind: 'cut-before', match: { path: 'config' }, at: 1, times: 2 }]);
    const config = await scene.run(() => scene.vm(VM).config.get());
    expect(config.values.get('name')).toBe('web-1');
    expect(scene.sent(GET)).toBe(3);
  });

  it('makes the server unreachable if it happens again and again, after a limited number of attempts', async () => {
    const scene = clientScene([{ kind: 'cut-before', match: { path: 'config' } }]);
    const error = await scene.failure(() => scene.vm(VM).config.get());
    expect(error).toMatchObject({ family: 'connect' });
    expect(error.code).toBe('UNREACHABLE');
    expect(scene.sent(GET)).toBe(4);
  });

  it('leaves the outcome of a change unknown if it never arrived', async () => {
    const scene = clientScene([{ kind: 'cut-before', match: { path: 'config' }, at: 1 }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'connect' });
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(isNotExecuted(error)).toBe(false);
    expect(scene.sent(PUT)).toBe(1);
    expect(scene.setting(VM, 'cores')).toBe('1');
  });

  it('leaves the outcome of a clone unknown, and exactly one clone, if it was begun', async () => {
    const scene = clientScene([{ kind: 'cut-after', match: { path: 'clone' }, at: 1 }]);
    const error = await scene.failure(() => scene.vm(TEMPLATE).clone({ newid: 300, full: true }));
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(error.diagnostic.where?.request).toBe(CLONE);
    // Long enough for a second clone to show, had there been one.
    await scene.clock.advance(600_000);
    expect(scene.sent(CLONE)).toBe(1);
    expect(scene.tasksOf('qmclone')).toBe(1);
    expect(scene.setting(300, 'lock')).toBeUndefined();
    expect(scene.world.vms.has(300)).toBe(true);
  });

  it('is not noticed after a read was answered', async () => {
    const scene = clientScene([{ kind: 'cut-after', match: { path: 'nextid' }, at: 1 }]);
    expect(await scene.run(() => scene.pve.cluster.nextid())).toBe(101);
    expect(scene.sent('/cluster/nextid')).toBe(2);
  });
});

describe('a proxy that cannot reach the daemon', () => {
  it('is asked again for a change too, because nothing was executed', async () => {
    const scene = clientScene([{ kind: 'unreachable', match: { path: 'clone' }, at: 1, times: 2 }]);
    await scene.run(async () => scene.pve.tasks.wait(await scene.vm(TEMPLATE).clone({ newid: 300 })));
    expect(scene.sent(CLONE)).toBe(3);
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('is reported as not executed if it lasts', async () => {
    const scene = clientScene([{ kind: 'unreachable', match: { path: 'config' }, reason: 'No route to host' }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'connect' });
    expect(error.code).toBe('NOT_EXECUTED');
    expect(isNotExecuted(error)).toBe(true);
    expect(isOutcomeUnknown(error)).toBe(false);
    expect(error.diagnostic.detail).toContain('No route to host');
    expect(scene.sent(PUT)).toBe(4);
    expect(scene.setting(VM, 'cores')).toBe('1');
  });

  it('fails immediately while the daemon restarts, and works when it is back', async () => {
    const scene = clientScene([{ kind: 'daemon-down', match: { method: 'PUT' }, at: 1, for_ms: 10_000 }]);
    await scene.run(async () => {
      const put = () => scene.vm(VM).config.put({ cores: 2 });
      await expect(put()).rejects.toMatchObject({ code: 'NOT_EXECUTED' });
      expect(scene.setting(VM, 'cores')).toBe('1');
      await scene.clock.sleep(10_000);
      await put();
      expect(scene.setting(VM, 'cores')).toBe('2');
    });
  });

  it('is bridged if it lasts for a moment', async () => {
    const scene = clientScene([{ kind: 'daemon-down', match: { method: 'PUT' }, at: 1, for_ms: 1_000 }]);
    await scene.run(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(scene.sent(PUT)).toBeGreaterThan(1);
    expect(scene.setting(VM, 'cores')).toBe('2');
  });

  it('does not end the wait for a task that continues meanwhile', async () => {
    const scene = clientScene([{ kind: 'daemon-down', match: { path: 'tasks/*/status' }, at: 1, for_ms: 15_000 }]);
    const upid = await scene.run(() => scene.vm(TEMPLATE).clone({ newid: 300, full: true }));
    const result = await scene.run(() => scene.pve.tasks.wait(upid));
    expect(result.outcome).toBe('ok');
    expect(result.waitedMs).toBeGreaterThanOrEqual(15_000);
  });
});

describe('a proxy that stops waiting', () => {
  it('leaves the outcome of a change unknown, while the change happens', async () => {
    const scene = clientScene([{ kind: 'proxy-timeout', match: { path: 'config' }, at: 1 }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'connect' });
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(scene.sent(PUT)).toBe(1);
    expect(scene.setting(VM, 'cores')).toBe('2');
  });

  it('is a timeout for a read, which is not repeated: it already took 30 s', async () => {
    const scene = clientScene([{ kind: 'proxy-timeout', match: { path: 'config' }, at: 1 }]);
    const error = await scene.failure(() => scene.vm(VM).config.get());
    expect(error.code).toBe('REQUEST_TIMEOUT');
    expect(isOutcomeUnknown(error)).toBe(false);
    expect(scene.sent(GET)).toBe(1);
  });
});

describe('a refusal', () => {
  it('is passed on in the words of the server, and not retried', async () => {
    const scene = clientScene([{ kind: 'refuse', match: { path: 'config' }, message: 'not in the mood' }]);
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'api' });
    expect(error.code).toBe('SERVER_FAULT');
    expect(error.diagnostic.detail).toBe('The server answered 500: "not in the mood".');
    expect(scene.sent(PUT)).toBe(1);
    expect(scene.setting(VM, 'cores')).toBe('1');
  });

  it('tells a read from a change if something in front of the server refused', async () => {
    const scene = clientScene([{ kind: 'refuse', status: 502, message: 'Bad Gateway', match: { path: 'config' } }]);
    expect((await scene.failure(() => scene.vm(VM).config.get())).code).toBe('UNREACHABLE');
    expect(isOutcomeUnknown(await scene.failure(() => scene.vm(VM).config.put({ cores: 2 })))).toBe(true);
    expect(scene.sent(GET)).toBe(4);
    expect(scene.sent(PUT)).toBe(1);
  });
});

describe('a ticket', () => {
  it('costs one new login if the server no longer accepts it, and the change happens once', async () => {
    const scene = clientScene([{ kind: 'ticket-expired', match: { path: 'clone' }, at: 1 }], { credentials: ROOT });
    await scene.run(async () => scene.pve.tasks.wait(await scene.vm(TEMPLATE).clone({ newid: 300 })));
    expect(scene.sent('POST /access/ticket')).toBe(2);
    expect(scene.sent(CLONE)).toBe(2);
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('costs one new login for all requests that were refused together', async () => {
    const scene = clientScene([{ kind: 'ticket-expired', match: { path: 'config' }, at: 1 }], { credentials: ROOT });
    await scene.run(() => Promise.all(Array.from({ length: 6 }, () => scene.vm(VM).config.get())));
    expect(scene.sent('POST /access/ticket')).toBe(2);
  });

  it('ends with a login error if even a fresh one is refused', async () => {
    const scene = clientScene([{ kind: 'ticket-expired', match: { path: 'config' } }], { credentials: ROOT });
    const error = await scene.failure(() => scene.vm(VM).config.put({ cores: 2 }));
    expect(error).toMatchObject({ family: 'auth' });
    expect(scene.sent(PUT)).toBe(2);
    expect(scene.setting(VM, 'cores')).toBe('1');
  });

  it('lasts for a whole day of work', async () => {
    const scene = clientScene([], { credentials: ROOT });
    await scene.run(async () => {
      for (let hour = 0; hour < 24; hour++) {
        await scene.vm(VM).config.get();
        await scene.clock.sleep(3_600_000);
      }
    });
    expect(scene.sent('POST /access/ticket')).toBeLessThanOrEqual(24);
  });
});
