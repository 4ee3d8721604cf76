/**
 * The client in a storm: for each of many seeds a small program meets faults of many kinds. Whatever happens, every
 * wait ends, every error is one of ours without a secret, nothing is done twice, and afterwards the world can be cleaned up.
 */
import { describe, expect, it } from 'vitest';
import { isFamily, ProxwrightError } from '../../src/base/errors.ts';
import {
  combineFaults,
  FAULT_KINDS,
  type FaultPlan,
  type FaultRuleInput,
  recordedWorld,
  ruleFaults,
  seededFaults,
  seededRandom,
  type World,
} from '../../src/simulator/index.ts';
import { byDepth, IS_SAMPLE } from '../support/depth.ts';
import { type ClientScene, clientScene, PASSWORD, ROOT, TOKEN_SECRET } from './support/client-scene.ts';
import { cleanUp, GUEST_PASSWORD, type Journal, lifeOfVm, newJournal } from './support/storm-program.ts';

const SEEDS = byDepth(30, 200);
const SECRETS = [TOKEN_SECRET, GUEST_PASSWORD.reveal(), PASSWORD];
/** Longer than any lock or outage that a seed can draw. */
const CALM_MS = 120_000;

interface Story {
  readonly scene: ClientScene;
  readonly journal: Journal;
  /** How many tasks of each type there were before the clean-up. */
  readonly happenings: ReadonlyMap<string, number>;
  readonly logged: readonly string[];
}

/** Beside all other trouble, now and then a refusal that repeats what it was sent in confidence. */
function withEchoes(plan: FaultPlan, seed: number): FaultPlan {
  const echo = (path: string, secret: string): FaultRuleInput => ({
    kind: 'refuse',
    match: { path },
    probability: 0.05,
    times: 2,
    message: `what is "${secret}" (${encodeURIComponent(secret)})?`,
  });
  const echoes = ruleFaults(
    [
      { ...echo('config', GUEST_PASSWORD.reveal()), match: { method: 'PUT', path: 'config' }, probability: 0.2 },
      echo('access/ticket', PASSWORD),
      ...(usesPassword(seed) ? [] : [echo('**', TOKEN_SECRET)]),
    ],
    seededRandom(`${seed}/echoes`),
  );
  const stop = () => {
    plan.stop();
    echoes.stop();
  };
  return { ...plan, ...combineFaults(plan, echoes), stop };
}

/** Tickets can expire, tokens cannot: both take part. */
const usesPassword = (seed: number) => seed % 2 === 1;

async function tell(seed: number): Promise<Story> {
  const logged: string[] = [];
  const scene = clientScene([], {
    seed,
    plan: withEchoes(seededFaults(seededRandom(seed)), seed),
    logger: { log: (_, message, fields) => logged.push(`${message} ${JSON.stringify(fields ?? {})}`) },
    ...(usesPassword(seed) && { credentials: ROOT }),
  });
  const journal = newJournal();
  const happenings = new Map<string, number>();
  await scene.run(async () => {
    await Promise.all([
      lifeOfVm(scene.pve, scene.clock, journal),
      scene.clock.sleep(7_000).then(() => lifeOfVm(scene.pve, scene.clock, journal)),
    ]);
    scene.plan.stop();
    await scene.clock.sleep(CALM_MS);
    for (const { type } of scene.world.tasks.values()) happenings.set(type, (happenings.get(type) ?? 0) + 1);
    await cleanUp(scene.pve, scene.loginAs(ROOT));
  });
  return { scene, journal, happenings, logged };
}

/** What is wrong with a story, in words; nothing, if all is well. */
function complaints({ scene, journal, happenings, logged }: Story): string[] {
  const found: string[] = [];
  for (const { step, thrown } of journal.rejections) {
    if (!(thrown instanceof ProxwrightError) || isFamily(thrown, 'bug')) found.push(`${step} ended with ${thrown}`);
    else if (leaks(everythingOf(thrown))) found.push(`${step} tells a secret: ${thrown.message}`);
  }
  found.push(...logged.filter(leaks).map((line) => `the log tells a secret: ${line}`));
  for (const [type, { certain, unknown }] of journal.begun) {
    const happened = happenings.get(type) ?? 0;
    if (happened >= certain && happened <= certain + unknown) continue;
    found.push(`${type} happened ${happened} times, and not ${certain} with at most ${unknown} more`);
  }
  const fresh = contentsOf(recordedWorld());
  for (const each of contentsOf(scene.world)) if (!fresh.has(each)) found.push(`${each} was left behind`);
  for (const each of fresh) if (!contentsOf(scene.world).has(each)) found.push(`${each} was lost`);
  return found;
}

const leaks = (text: string) => SECRETS.some((secret) => text.includes(secret));

function everythingOf(error: Error): string {
  const cause = error.cause instanceof Error ? everythingOf(error.cause) : String(error.cause ?? '');
  const diagnostic = error instanceof ProxwrightError ? JSON.stringify(error.diagnostic) : '';
  return [error.message, error.stack, diagnostic, cause].join('\n');
}

/** VMs and volumes by name, but for those of strangers. */
function contentsOf(world: World): Set<string> {
  const vms = [...world.vms.values()]
    .map(({ vmid, config }) => ({ vmid, name: config.current.get('name') ?? '' }))
    .filter(({ name }) => !name.startsWith('another-clients-'));
  const volumes = [...world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((onNode) => [...onNode.keys()].map((name) => `${storage.id}:${name}`)),
  );
  return new Set([...vms.map(({ vmid, name }) => `VM ${vmid} ${name}`), ...volumes]);
}

describe('a storm', () => {
  it(`ends with any of ${SEEDS} seeds, with our errors only, without secrets, duplicates or leftovers`, async () => {
    const failures: string[] = [];
    const struck = new Set<string>();
    const codes = new Set<string>();
    let unharmed = 0;
    for (let seed = 0; seed < SEEDS; seed++) {
      try {
        const story = await tell(seed);
        failures.push(...complaints(story).map((complaint) => `seed ${seed}: ${complaint}`));
        for (const { kind } of story.scene.plan.strikes) struck.add(kind);
        for (const { thrown } of story.journal.rejections) codes.add((thrown as ProxwrightError).code);
        if (story.journal.rejections.length === 0) unharmed++;
      } catch (thrown) {
        failures.push(`seed ${seed}: ${thrown}`);
      }
    }
    expect(failures).toEqual([]);
    // A storm without a single fault would prove nothing, and one in which everything fails not much.
    expect(struck.size).toBeGreaterThan(0);
    if (IS_SAMPLE) return;
    expect([...struck].sort()).toEqual([...FAULT_KINDS].sort());
    expect(codes.size).toBeGreaterThan(10);
    expect(unharmed).toBeGreaterThan(0);
    expect(unharmed).toBeLessThan(SEEDS / 2);
  });

  it('gives the same result for the same seed', async () => {
    const first = await tell(11);
    expect((await tell(11)).scene.requests).toEqual(first.scene.requests);
  });
});
