import { describe, expect, it } from 'vitest';
import { canceled } from '../base/errors.ts';
import { Secret } from '../base/secret.ts';
import { TransportFailure } from '../base/transport.ts';
import { isLockContention, isNotExecuted, isNotFound, isOutcomeUnknown } from './errors/kinds.ts';
import { passwordCredentials } from './http/credentials.ts';
import { bare, errorOf, ok, refused, TOKEN_SECRET, testClient } from './testing/client.ts';

const UPID = 'UPID:pve1:0000C8A1:0001E0F2:6A0B1C2D:qmclone:9000:deploy@pve!ci:';

const failure = (kind: TransportFailure['kind'], delivered: TransportFailure['delivered']) =>
  new TransportFailure({ kind, delivered, message: 'the connection ended before the answer' });

const throwing = (error: Error) => () => {
  throw error;
};

describe('a request', () => {
  it('carries parameters of GET and DELETE in the query, and those of POST and PUT as a form', async () => {
    const { clock, pve, transport } = testClient(() => ok(UPID));
    const vm = pve.node('pve1').vm(101);
    await clock.run(async () => {
      await vm.destroy({ purge: true, 'destroy-unreferenced-disks': true });
      await vm.clone({ newid: 102, name: 'a b', full: false, pool: undefined });
      await vm.resize({ disk: 'scsi0', size: '32G' });
    });
    const [, destroy, clone, resize] = transport.requests;
    expect(destroy).toMatchObject({
      method: 'DELETE',
      target: '/api2/json/nodes/pve1/qemu/101?purge=1&destroy-unreferenced-disks=1',
    });
    expect(destroy?.body).toBeUndefined();
    expect(clone).toMatchObject({ method: 'POST', target: '/api2/json/nodes/pve1/qemu/101/clone' });
    expect(clone?.body).toBe('newid=102&name=a%20b&full=0');
    expect(clone?.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': '27',
      authorization: `PVEAPIToken=deploy@pve!ci=${TOKEN_SECRET}`,
    });
    expect(resize).toMatchObject({ method: 'PUT', body: 'disk=scsi0&size=32G' });
  });

  it('escapes what would change the meaning of a form, and repeats the key of a list', async () => {
    const { clock, pve, transport } = testClient((request) => ok(request.target.includes('exec') ? { pid: 7 } : null));
    const vm = pve.node('pve1').vm(101);
    await clock.run(async () => {
      await vm.config.put({ boot: 'order=scsi0;net0', description: 'a&b+c%' });
      await vm.agent.exec(['/bin/echo', 'a b']);
    });
    expect(transport.requests[1]?.body).toBe('boot=order%3Dscsi0%3Bnet0&description=a%26b%2Bc%25');
    expect(transport.requests[2]?.body).toBe('command=%2Fbin%2Fecho&command=a%20b');
  });

  it('that changes something is not sent once its run has lost the lock; a read still is', async () => {
    const { clock, pve, transport } = testClient(() => ok({ release: '9.2', version: '9.2.11', repoid: 'x' }));
    await clock.run(async () => {
      await pve.authenticate();
      const before = transport.requests.length;
      pve.fence.guardedBy(throwing(new Error('the lock is lost')));
      await expect(pve.node('pve1').vm(101).config.put({ boot: 'order=scsi0' })).rejects.toThrow('the lock is lost');
      expect(transport.requests).toHaveLength(before);
      await pve.nodes().catch(() => undefined);
      expect(transport.requests).toHaveLength(before + 1);
    });
  });

  it('percent-encodes the components of its path', async () => {
    const { clock, pve, transport } = testClient(() => ok(null));
    await clock.run(() => pve.node('pve1').storage('local').content.delete('local:iso/a b.iso'));
    expect(transport.lines()[1]).toBe('DELETE /nodes/pve1/storage/local/content/local%3Aiso/a%20b.iso');
  });

  it('rejects a component that is empty or contains a slash', async () => {
    const { clock, pve, transport } = testClient(() => ok(null));
    for (const name of ['', '..', 'pve1/qemu/100']) {
      const error = await errorOf(clock, async () => pve.node(name).status());
      expect(error.code).toBe('INVARIANT');
    }
    expect(transport.requests).toHaveLength(0);
  });

  it('uploads a file as multipart, in the order in which the server reads it', async () => {
    const { clock, pve, transport } = testClient(() => ok(UPID));
    const bytes = new TextEncoder().encode('content');
    const checksum = { algorithm: 'sha256', value: 'abc' } as const;
    await clock.run(() =>
      pve.node('pve1').storage('local').upload({ content: 'iso', filename: 'seed.iso', bytes, checksum }),
    );
    const request = transport.requests[1];
    const body = Buffer.from(request?.body as Uint8Array).toString();
    expect(body.match(/; name="[^"]+"/g)).toEqual([
      '; name="content"',
      '; name="checksum-algorithm"',
      '; name="checksum"',
      '; name="filename"',
    ]);
    expect(body).toContain('filename="seed.iso"\r\nContent-Type: application/octet-stream\r\n\r\ncontent\r\n--');
    expect(request?.headers['content-length']).toBe(String(body.length));
    const boundary = /boundary=(.+)$/.exec(request?.headers['content-type'] ?? '')?.[1];
    expect(body.endsWith(`--${boundary}--\r\n`)).toBe(true);
  });
});

describe('an error', () => {
  it('names the request and quotes the server, parameter by parameter in order', async () => {
    const errors = {
      net0: 'invalid format - format error\nnet0.model: property is missing\n',
      cores: "type check ('integer') failed",
    };
    const { clock, pve } = testClient(() => refused(400, 'Parameter verification failed.', errors));
    const error = await errorOf(clock, () => pve.node('pve1').vm(101).config.put({ cores: 'x' }));
    expect(error.code).toBe('PARAMETER_REJECTED');
    expect(error.diagnostic.where?.request).toBe('PUT /nodes/pve1/qemu/101/config');
    expect(error.diagnostic.detail).toBe(
      [
        'The server answered 400: "Parameter verification failed."',
        "cores: type check ('integer') failed",
        'net0: invalid format - format error; net0.model: property is missing',
      ].join('\n'),
    );
  });

  it('is recognised in the reason phrase if an old server sends no message', async () => {
    const { clock, pve } = testClient(() => bare(500, 'VM is locked (backup)', '{"data":null}'));
    const error = await errorOf(clock, () => pve.node('pve1').vm(101).config.put({ cores: 2 }));
    expect(error.code).toBe('GUEST_LOCKED');
    expect(isLockContention(error)).toBe(true);
    expect(error.diagnostic.detail).toContain('"VM is locked (backup)"');
  });

  it('is recognised in the text of a parameter', async () => {
    const { clock, pve } = testClient(() =>
      refused(400, 'Parameter verification failed.', { vmid: 'VM 100 already exists' }),
    );
    expect((await errorOf(clock, () => pve.cluster.assertFree(100))).code).toBe('VMID_TAKEN');
  });

  it('about a privilege says who lacks it and how to grant it', async () => {
    const { clock, pve } = testClient(() => refused(403, 'Permission check failed (/vms/9000, VM.Clone)'));
    const error = await errorOf(clock, () => pve.node('pve1').vm(9000).clone({ newid: 101 }));
    expect(error.diagnostic).toMatchObject({
      code: 'PRIVILEGE_MISSING',
      detail: 'deploy@pve!ci may not do this: "Permission check failed (/vms/9000, VM.Clone)".',
      where: { request: 'POST /nodes/pve1/qemu/9000/clone', endpoint: 'https://pve.test:8006' },
    });
    expect(error.diagnostic.hint?.text).toContain('pveum acl modify /vms/9000');
  });

  it('about something missing distinguishes a VM from a storage', async () => {
    const gone = testClient(() => refused(500, "Configuration file 'nodes/pve1/qemu-server/4711.conf' does not exist"));
    const vmError = await errorOf(gone.clock, () => gone.pve.node('pve1').vm(4711).config.get());
    expect([isNotFound(vmError), isNotFound(vmError, 'guest'), isNotFound(vmError, 'storage')]).toEqual([
      true,
      true,
      false,
    ]);
    const other = testClient(() => refused(500, "storage 'nosuch' does not exist"));
    const storageError = await errorOf(other.clock, () => other.pve.node('pve1').vm(9000).clone({ newid: 101 }));
    expect([isNotFound(storageError), isNotFound(storageError, 'guest')]).toEqual([true, false]);
  });

  it('contains no secret, not even one that the server echoes', async () => {
    const { clock, pve } = testClient((request) => {
      const sent = `${request.headers.authorization} ${decodeURIComponent(String(request.body))}`;
      return refused(500, `unable to understand ${sent}`, { cipassword: `got 'hunter2!'` });
    });
    const error = await errorOf(clock, () =>
      pve
        .node('pve1')
        .vm(101)
        .config.put({ cipassword: new Secret('hunter2!') }),
    );
    expect(error.message + JSON.stringify(error.diagnostic)).not.toMatch(new RegExp(`hunter2|${TOKEN_SECRET}`));
    expect(error.diagnostic.detail).toContain('•••');
  });

  it('of an unknown kind still quotes the server', async () => {
    const { clock, pve } = testClient(() => refused(500, 'VM 507 is running - destroy failed'));
    const error = await errorOf(clock, () => pve.node('pve1').vm(507).destroy());
    expect(error.code).toBe('SERVER_FAULT');
    expect(error.diagnostic.detail).toBe('The server answered 500: "VM 507 is running - destroy failed".');
  });

  it('about a certificate shows the fingerprint to paste', async () => {
    const untrusted = new TransportFailure({
      kind: 'certificate',
      delivered: 'no',
      message: 'it is self-signed',
      fingerprint: 'AA:BB',
    });
    const { clock, pve, transport } = testClient(throwing(untrusted), { rawLogin: true });
    const error = await errorOf(clock, () => pve.nodes());
    expect(error.code).toBe('CERT_UNTRUSTED');
    expect(error.diagnostic.hint?.text).toContain('connection.fingerprint: "AA:BB"');
    expect(transport.requests).toHaveLength(1);
  });
});

describe('a retry', () => {
  const vm = (client: ReturnType<typeof testClient>) => client.pve.node('pve1').vm(101);
  const sent = (client: ReturnType<typeof testClient>) => client.transport.requests.length - 1;

  it.each([
    ['it never left', throwing(failure('connect', 'no'))],
    ['the connection was cut', throwing(failure('cut', 'perhaps'))],
    ['the daemon was down', () => bare(595, 'Connection refused')],
    ['a disk vanished', () => refused(500, "qemu-img: Could not open '/x/images/1/d': No such file or directory")],
  ])('happens for a read when %s', async (_, script) => {
    let calls = 0;
    const client = testClient(() => (++calls <= 2 ? script() : ok({ digest: 'd', cores: 2 })));
    const config = await client.clock.run(() => vm(client).config.get());
    expect(config.digest).toBe('d');
    expect(calls).toBe(3);
  });

  it('ends after a few attempts', async () => {
    const client = testClient(throwing(failure('connect', 'no')));
    const error = await errorOf(client.clock, () => vm(client).config.get());
    expect(error.code).toBe('UNREACHABLE');
    expect(sent(client)).toBe(4);
  });

  it.each([
    ['it never left', throwing(failure('connect', 'no'))],
    ['the daemon was down', () => bare(595, 'No route to host')],
    ['no worker was started', () => refused(500, 'got no worker upid - start worker failed')],
  ])('happens for a change only when %s', async (_, script) => {
    let calls = 0;
    const client = testClient(() => (++calls === 1 ? script() : ok(UPID)));
    expect(await client.clock.run(() => vm(client).clone({ newid: 102 }))).toBe(UPID);
    expect(calls).toBe(2);
  });

  it.each([
    ['a cut connection', throwing(failure('cut', 'perhaps'))],
    ['a time-out', throwing(failure('timeout', 'perhaps'))],
    ['a garbled answer', throwing(failure('malformed', 'perhaps'))],
    ['596', () => bare(596, 'Connection timed out')],
    ['597', () => bare(597, 'Broken pipe')],
    ['599', () => bare(599, 'Unknown')],
    ['a gateway time-out of a proxy in between', () => bare(504, 'Gateway Timeout', '<html></html>')],
    ['a truncated body', () => ({ ...ok(UPID), body: '{"data":"UPID:pve1' })],
    [
      'a list of tasks that could not be locked',
      () => refused(500, "can't lock file '/var/log/pve/tasks/.active.lock' - got timeout"),
    ],
  ])('never happens for a change after %s: its outcome is unknown', async (_, script) => {
    const client = testClient(script as () => never);
    const error = await errorOf(client.clock, () => vm(client).clone({ newid: 102 }));
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(isNotExecuted(error)).toBe(false);
    expect(sent(client)).toBe(1);
  });

  it('distinguishes a change that was not executed from one whose outcome is unknown', async () => {
    const client = testClient(() => bare(595, 'Connection refused'));
    const error = await errorOf(client.clock, () => vm(client).clone({ newid: 102 }));
    expect(error.code).toBe('NOT_EXECUTED');
    expect([isNotExecuted(error), isOutcomeUnknown(error)]).toEqual([true, false]);
  });

  it('pauses longer each time, on the clock', async () => {
    const client = testClient(throwing(failure('connect', 'no')));
    const before = client.clock.now();
    await errorOf(client.clock, () => vm(client).config.get());
    const waited = client.clock.now() - before;
    expect(waited).toBeGreaterThan(300 * 7 * 0.74);
    expect(waited).toBeLessThan(300 * 7 * 1.26);
  });

  it('stops when the caller cancels', async () => {
    const stop = new AbortController();
    const client = testClient(() => {
      stop.abort();
      throw failure('connect', 'no');
    });
    const error = await errorOf(client.clock, () => vm(client).config.get({}, { signal: stop.signal }));
    expect(error).toMatchObject({ code: 'CANCELED' });
    expect(sent(client)).toBe(1);
  });

  it('says that a stopped change may have taken effect', async () => {
    const client = testClient(throwing(canceled()));
    const error = await errorOf(client.clock, () => vm(client).clone({ newid: 102 }));
    expect(error).toMatchObject({ code: 'CANCELED' });
    expect(error.diagnostic.detail).toContain('POST /nodes/pve1/qemu/101/clone; whether it took effect');
  });
});

describe('a hostile response', () => {
  it.each([
    ['truncated JSON', '{"data":[{"vmid":100'],
    ['a web page', '<!DOCTYPE html><html><body>Login</body></html>'],
    ['nothing', ''],
    ['a JSON text', '"hello"'],
    ['a JSON null', 'null'],
    ['no data', '{"success":1}'],
    ['the wrong kind of data', '{"data":{"a":1}}'],
    ['entries of the wrong kind', '{"data":[1,null,"x"]}'],
    ['an impossible VM id', '{"data":[{"vmid":"../1","status":"running"}]}'],
    ['an entry without its key', '{"data":[{"status":"running"}]}'],
  ])('of %s is an error with a place, and nothing else', async (_, body) => {
    const { clock, pve } = testClient(() => ({ status: 200, reason: 'OK', headers: {}, body }));
    const error = await errorOf(clock, () => pve.node('pve1').vms.list());
    expect(error.code).toBe('BAD_ANSWER');
    expect(error.diagnostic.where?.request).toBe('GET /nodes/pve1/qemu');
  });

  it('to a change that names no task leaves the outcome unknown', async () => {
    const { clock, pve } = testClient(() => ok('not a upid'));
    const error = await errorOf(clock, () => pve.node('pve1').vm(101).clone({ newid: 102 }));
    expect(error.code).toBe('BAD_ANSWER');
    expect(isOutcomeUnknown(error)).toBe(true);
  });

  it('to a read that is not a GET leaves nothing unknown', async () => {
    const { clock, pve } = testClient(() => bare(200, 'OK', '<html>Login</html>'));
    const error = await errorOf(clock, () => pve.node('pve1').vm(101).agent.ping());
    expect(error.code).toBe('BAD_ANSWER');
    expect(isOutcomeUnknown(error)).toBe(false);
  });

  it('to the login before a change leaves nothing unknown: the change was not sent', async () => {
    const credentials = passwordCredentials({ username: 'root@pam', password: 'x' });
    const web = testClient(() => bare(200, 'OK', '<html>Login</html>'), { credentials, rawLogin: true });
    const unread = await errorOf(web.clock, () => web.pve.node('pve1').vm(101).clone({ newid: 102 }));
    expect(isOutcomeUnknown(unread)).toBe(false);
    const slow = testClient(() => bare(596, 'Connection timed out'), { rawLogin: true });
    const late = await errorOf(slow.clock, () => slow.pve.node('pve1').vm(101).clone({ newid: 102 }));
    expect(isNotExecuted(late)).toBe(true);
    expect(slow.transport.lines()).toEqual(['GET /version']);
  });

  it('with an endless message is cut off', async () => {
    const { clock, pve } = testClient(() => refused(500, 'x'.repeat(1_000_000)));
    const error = await errorOf(clock, () => pve.nodes());
    expect(error.message.length).toBeLessThan(5_000);
  });

  it.each([
    [301, 'Moved Permanently', 'BAD_ANSWER'],
    [404, 'Not Found', 'SERVER_FAULT'],
    [418, "I'm a teapot", 'SERVER_FAULT'],
    [502, 'Bad Gateway', 'UNREACHABLE'],
    [501, 'no such uri', 'NOT_IMPLEMENTED'],
    [0, '', 'SERVER_FAULT'],
  ])('with status %i %s is %s', async (status, reason, code) => {
    const { clock, pve } = testClient(() => bare(status, reason, '<html>'));
    expect((await errorOf(clock, () => pve.nodes())).code).toBe(code);
  });

  it('whose errors are not text is still an error', async () => {
    const body = '{"data":null,"message":7,"errors":{"a":{"b":1},"c":null}}';
    const { clock, pve } = testClient(() => ({ status: 400, reason: 'Bad', headers: {}, body }));
    const error = await errorOf(clock, () => pve.nodes());
    expect(error.diagnostic.detail).toBe('The server answered 400: "Bad"\na: {"b":1}\nc: null');
  });
});

describe('the request limiter', () => {
  it('keeps the number of concurrent requests within the limit', async () => {
    let inside = 0;
    let most = 0;
    const client = testClient(
      async () => {
        most = Math.max(most, ++inside);
        await client.clock.sleep(20);
        inside--;
        return ok([]);
      },
      { limits: { requests: 3 } },
    );
    await client.clock.run(() => Promise.all(Array.from({ length: 12 }, () => client.pve.nodes())));
    expect(most).toBe(3);
  });

  it('has a lower limit for guest agents', async () => {
    let inside = 0;
    let most = 0;
    const client = testClient(async () => {
      most = Math.max(most, ++inside);
      await client.clock.sleep(3_000);
      inside--;
      return refused(500, 'QEMU guest agent is not running');
    });
    await client.clock.run(() =>
      Promise.allSettled(
        Array.from({ length: 6 }, (_, i) =>
          client.pve
            .node('pve1')
            .vm(100 + i)
            .agent.ping(),
        ),
      ),
    );
    expect(most).toBe(2);
  });
});
