/**
 * The server stops answering while four clones are under way: it refuses connections, or accepts requests and stays silent.
 * The run says so within seconds, retries for a limited time, and ends with UNREACHABLE; the next run resumes.
 */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { type Transport, TransportFailure } from '../../../src/base/transport.ts';
import { codesOf, failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const FOUR = `
version: 1
stack: lab
vms:
  web:
    count: 4
    name: web-\${number}
    vmids: 401-409
    node: pve1
    clone: { template: ubuntu-24.04, mode: full }
rollout: { limits: { clones_per_node: 4, clones_per_storage: 4 } }
`;
const MINUTE_MS = 60_000;

type Trouble = 'refuses connections' | 'stays silent';

/** A line that can be cut off, by the clock of the scene. */
class Line {
  lostAt = Number.POSITIVE_INFINITY;
  backAt = Number.POSITIVE_INFINITY;
  readonly trouble: Trouble;
  clock: Clock | undefined;

  constructor(trouble: Trouble) {
    this.trouble = trouble;
  }

  readonly through = (transport: Transport): Transport => ({
    ...transport,
    send: async (request, options = {}) => {
      const clock = this.clock as Clock; // set before the first run
      const isLost = () => clock.ticks() >= this.lostAt && clock.ticks() < this.backAt;
      if (!isLost()) return transport.send(request, options);
      if (this.trouble === 'refuses connections') {
        throw new TransportFailure({ kind: 'connect', delivered: 'no', message: 'connection refused' });
      }
      await clock.sleep(options.timeoutMs ?? MINUTE_MS, options.signal);
      throw new TransportFailure({ kind: 'timeout', delivered: 'perhaps', message: 'no complete answer' });
    },
  });
}

function sceneWith(trouble: Trouble) {
  const line = new Line(trouble);
  const scene = new Scene({ disguise: line.through });
  line.clock = scene.clock;
  return { line, scene, startedAt: scene.clock.ticks() };
}

/** The moment of each log line that speaks of the server. */
function saidAbout(scene: Scene): string[] {
  return scene.logs.filter((each) => /answered since|answers again/.test(each));
}

describe.each<Trouble>(['refuses connections', 'stays silent'])('a server that %s', (trouble) => {
  it('is named within seconds, and given up after five minutes with UNREACHABLE', async () => {
    const { line, scene } = sceneWith(trouble);
    let saidAfterMs: number | undefined;
    const push = scene.logs.push.bind(scene.logs);
    scene.logs.push = (...lines) => {
      if (lines.some((each) => each.includes('has not answered since'))) {
        saidAfterMs ??= scene.clock.ticks() - line.lostAt;
      }
      return push(...lines);
    };
    scene.onRequest = (request) => {
      if (request.endsWith('/clone')) line.lostAt = scene.clock.ticks() + 3_000;
    };
    const end = await scene.apply(FOUR);
    expect([...new Set(codesOf(end))]).toEqual(['UNREACHABLE']);
    expect(saidAfterMs).toBeLessThanOrEqual(10_000);
    const lastedMs = scene.clock.ticks() - line.lostAt;
    expect(lastedMs).toBeGreaterThan(4 * MINUTE_MS);
    expect(lastedMs).toBeLessThan(7 * MINUTE_MS);
    expect(saidAbout(scene)).toHaveLength(1);
    expect(saidAbout(scene)[0]).toMatch(/^warn .* has not answered since \S+Z: .*\. Trying until \S+Z\./);
    expect(failuresOf(end).join()).toContain('it resumes');

    // The clones continued meanwhile; the next run attaches to them and starts none again.
    line.lostAt = Number.POSITIVE_INFINITY;
    scene.onRequest = () => {};
    expect(failuresOf(await scene.apply(FOUR))).toEqual([]);
    expect(scene.tasks('qmclone')).toEqual(['OK', 'OK', 'OK', 'OK']);
  });

  it('is waited for, and the run ends well when it comes back', async () => {
    const { line, scene } = sceneWith(trouble);
    scene.onRequest = (request) => {
      if (!request.endsWith('/clone')) return;
      line.lostAt = scene.clock.ticks() + 3_000;
      line.backAt = line.lostAt + 2 * MINUTE_MS;
    };
    expect(failuresOf(await scene.apply(FOUR))).toEqual([]);
    expect(saidAbout(scene)).toHaveLength(2);
    expect(saidAbout(scene)[1]).toContain('answers again, after');
    expect(scene.tasks('qmclone')).toHaveLength(4);
  });

  it('is waited for as long as the file says', async () => {
    const { line, scene } = sceneWith(trouble);
    scene.onRequest = (request) => {
      if (request.endsWith('/clone')) line.lostAt = scene.clock.ticks() + 3_000;
    };
    const end = await scene.apply(FOUR.replace('rollout: {', 'rollout: { timeouts: { unreachable: 20m },'));
    expect([...new Set(codesOf(end))]).toEqual(['UNREACHABLE']);
    const lastedMs = scene.clock.ticks() - line.lostAt;
    expect(lastedMs).toBeGreaterThan(19 * MINUTE_MS);
    expect(lastedMs).toBeLessThan(22 * MINUTE_MS);
  });
});

it('does not wait for a server that was never reached', async () => {
  const { line, scene, startedAt } = sceneWith('refuses connections');
  line.lostAt = 0;
  expect(await scene.apply(FOUR)).toMatchObject({ kind: 'failed', problem: { code: 'UNREACHABLE' } });
  expect(scene.clock.ticks() - startedAt).toBeLessThan(10_000);
});

describe('a plan, which waits for one answer at a time', () => {
  it.each([
    ['never answered', 0],
    ['answered some requests', 3],
  ])('says within seconds that a server is silent which %s, and when it gives up', async (_, answers) => {
    const { line, scene } = sceneWith('stays silent');
    const said: number[] = [];
    const push = scene.logs.push.bind(scene.logs);
    scene.logs.push = (...lines) => {
      if (lines.some((each) => each.includes('has not answered since'))) said.push(scene.clock.ticks() - line.lostAt);
      return push(...lines);
    };
    let requests = 0;
    if (answers === 0) line.lostAt = scene.clock.ticks();
    scene.onRequest = () => {
      if (++requests === answers) line.lostAt = scene.clock.ticks() + 1;
    };
    const end = await scene.plan(FOUR);
    expect(codesOf(end).concat(end.kind)).toContain('failed');
    expect(said).toHaveLength(1);
    expect(said[0]).toBeLessThanOrEqual(6_000);
    expect(saidAbout(scene)[0]).toMatch(
      /^warn .* has not answered since \S+Z\. Giving up at \S+Z, if no answer comes\./,
    );
    expect(scene.clock.ticks() - line.lostAt).toBeLessThan(2 * MINUTE_MS);
  });
});
