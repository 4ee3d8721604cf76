import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { S3Bucket } from './s3-bucket.ts';

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  server = undefined;
});

/** A bucket on a server that gives these answers, one after the other, the last one again and again. */
async function bucketThatAnswers(...answers: readonly (readonly [status: number, code: string])[]) {
  let renewals = 0;
  let requests = 0;
  server = createServer((_, response) => {
    const [status, code] = answers[Math.min(requests++, answers.length - 1)] ?? [200, ''];
    response
      .writeHead(status, { etag: '"1"' })
      .end(code && `<Error><Code>${code}</Code><Message>words</Message></Error>`);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  const clock = new VirtualClock();
  const bucket = new S3Bucket({
    bucket: 'state',
    region: 'eu-central-1',
    endpoint: `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`,
    shown: 's3://state/lab/',
    clock: { ...clock, now: () => clock.now(), ticks: () => clock.ticks(), sleep: async () => {} },
    random: seededRandom('bucket'),
    credentials: {
      get: async () => ({ accessKeyId: 'key', secretAccessKey: 'hidden-value' }),
      renew: () => {
        renewals++;
      },
    },
  });
  return { bucket, counts: () => ({ renewals, requests }) };
}

describe('a bucket', () => {
  it.each([
    [404, 'NoSuchBucket', 'Create the bucket'],
    [403, 'SignatureDoesNotMatch', 'the credentials'],
    [403, 'RequestTimeTooSkewed', 'Set the clock'],
    [301, 'PermanentRedirect', 'Check its address'],
    [400, 'InvalidArgument', 'Check its address'],
  ])('says what its server says, at once and as no defect of ours: %i %s', async (status, code, hint) => {
    for (const act of ['get', 'put', 'delete'] as const) {
      const { bucket, counts } = await bucketThatAnswers([status, code]);
      const acting = act === 'put' ? bucket.put('a', 'text', 'absent') : bucket[act]('a');
      const error: unknown = await acting.then(
        () => undefined,
        (each: unknown) => each,
      );
      // Nothing to delete is as good as deleted.
      if (act === 'delete' && status === 404) continue;
      expect(error).toMatchObject({ code: 'STATE_UNWRITABLE', message: expect.stringContaining(code) });
      expect(String(error)).toContain(hint);
      expect(String(error)).not.toContain('hidden-value');
      expect(counts().requests).toBe(1);
      server?.closeAllConnections();
      server?.close();
    }
  });

  it('tries again after a fault of the server, and with new credentials after expired ones', async () => {
    const busy = await bucketThatAnswers([503, 'SlowDown'], [429, 'TooMany'], [200, '']);
    expect(await busy.bucket.put('a', 'text', 'absent')).toBe('"1"');
    expect(busy.counts()).toEqual({ renewals: 0, requests: 3 });
    server?.closeAllConnections();
    server?.close();
    const expired = await bucketThatAnswers([400, 'ExpiredToken'], [200, '']);
    expect(await expired.bucket.put('a', 'text', 'absent')).toBe('"1"');
    expect(expired.counts()).toEqual({ renewals: 1, requests: 2 });
  });
});
