/** An upload without its privilege. */
import { expect, it } from 'vitest';
import { TestClient } from '../../../testing/client.ts';

it('refuses an upload late, with the reason in the status line and an empty body', async () => {
  const client = new TestClient({
    nodes: { pve1: {} },
    storages: { local: { content: ['iso'] } },
    users: {
      'guest@pve': { tokens: { none: { secret: '00000000-0000-4000-8000-000000000002', privsep: false } } },
    },
  });
  const boundary = 'x';
  const part = (head: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const body = `${part('name="content"', 'iso')}${part('name="filename"; filename="a.iso"', 'x')}--${boundary}--\r\n`;
  const startedAt = client.clock.now();
  const answer = await client.clock.run(() =>
    client.simulator.handle({
      method: 'POST',
      target: '/api2/json/nodes/pve1/storage/local/upload',
      headers: {
        authorization: 'PVEAPIToken=guest@pve!none=00000000-0000-4000-8000-000000000002',
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(Buffer.byteLength(body)),
      },
      body,
    }),
  );
  expect([answer.status, answer.reason, answer.body]).toEqual([
    403,
    'Permission check failed (/storage/local, Datastore.AllocateTemplate)',
    '',
  ]);
  expect(client.clock.now() - startedAt).toBe(3_000);
});
