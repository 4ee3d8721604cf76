/** How long a store may be silent before a run stops. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { Retries } from './retried.ts';

const LEAST_LEASE_MS = 45_000;

function scene() {
  const clock = new VirtualClock();
  const retries = new Retries({ clock, random: seededRandom('retries'), shown: 's3://state/lab/' });
  const begun = clock.ticks();
  return { clock, retries, spent: () => clock.ticks() - begun };
}

describe('a store that does not answer', () => {
  it('is given up before the lease of the run may have ended, even if it accepts requests and stays silent', async () => {
    const { clock, retries, spent } = scene();
    let attempts = 0;
    const silence = async () => {
      attempts++;
      await clock.sleep(20_000);
      throw new Error('no answer within 20 s');
    };
    const run = clock.run(() => retries.run(() => true, silence));
    await expect(run).rejects.toMatchObject({ code: 'STATE_UNREACHABLE' });
    expect(attempts).toBe(2);
    expect(spent()).toBeLessThan(LEAST_LEASE_MS);
  });

  it('is not asked again while a run that gave it up ends', async () => {
    const { clock, retries } = scene();
    let attempts = 0;
    const silence = async () => {
      attempts++;
      await clock.sleep(20_000);
      throw new Error('no answer within 20 s');
    };
    const unreachable = { code: 'STATE_UNREACHABLE', message: expect.stringContaining('no answer within 20 s') };
    await clock.run(async () => {
      await expect(retries.run(() => true, silence)).rejects.toMatchObject(unreachable);
      const givenUpAt = clock.ticks();
      for (let each = 0; each < 5; each++)
        await expect(retries.run(() => true, silence)).rejects.toMatchObject(unreachable);
      expect([attempts, clock.ticks()]).toEqual([2, givenUpAt]);
      await clock.sleep(10_000);
      expect(
        await retries.run(
          () => true,
          async () => 'answered',
        ),
      ).toBe('answered');
      expect(
        await retries.run(
          () => true,
          async () => 'again',
        ),
      ).toBe('again');
    });
  });

  it('is tried for 30 seconds if it refuses connections, and each answer restarts that time', async () => {
    const { clock, retries, spent } = scene();
    const refuse = () => Promise.reject(new Error('connect ECONNREFUSED'));
    await expect(clock.run(() => retries.run(() => true, refuse))).rejects.toMatchObject({ code: 'STATE_UNREACHABLE' });
    expect(spent()).toBeGreaterThan(15_000);
    expect(spent()).toBeLessThanOrEqual(30_000);
    await clock.run(async () => {
      await clock.sleep(10_000);
      await retries.run(
        () => true,
        async () => 'answered',
      );
    });
    const before = spent();
    await expect(clock.run(() => retries.run(() => true, refuse))).rejects.toMatchObject({ code: 'STATE_UNREACHABLE' });
    expect(spent() - before).toBeGreaterThan(15_000);
  });
});
