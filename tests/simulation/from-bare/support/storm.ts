/**
 * One scenario per seed: a stack starts from a bare host and is changed while faults of many kinds strike, also during
 * transfers, and some runs are killed. When it is over the next apply must converge, and nothing may be left behind.
 */
import { randomInteger } from '../../../../src/base/random.ts';
import { isTransferKind } from '../../../../src/simulator/faults/rule.ts';
import { seededRules } from '../../../../src/simulator/faults/seeded.ts';
import { type FaultKind, ruleFaults, seededRandom, WELL_KNOWN_URLS } from '../../../../src/simulator/index.ts';
import { codesOf, failuresOf } from '../../engine/support/invariants.ts';
import { Scene, type SceneOptions } from '../../engine/support/scene.ts';
import { administer } from '../../engine/support/storm.ts';
import { complaintsAfter, complaintsAfterDestroy, strangersPicture } from './invariants.ts';
import { SOURCES, sentStack } from './sent-image.ts';
import { cloudStack, clusterStack, sumOf, talosStack } from './stacks.ts';
import { clusterWorld, hostWorld } from './worlds.ts';

interface Tale {
  readonly world: NonNullable<SceneOptions['world']>;
  readonly texts: readonly string[];
}

/** Another client may take an id first, so there must be others. */
const withRanges = (text: string) =>
  text.replaceAll(/\bvmid: 9000/g, 'vmids: 9000-9039').replaceAll(/\bvmid: 10\d/g, 'vmids: 101-139');

const SUM = `, ${sumOf(WELL_KNOWN_URLS.ubuntuNoble)}`;

const TALES: readonly Tale[] = [
  { world: hostWorld, texts: [cloudStack({ image: SUM }), cloudStack({ image: SUM, cores: 4 })].map(withRanges) },
  {
    world: hostWorld,
    texts: [talosStack(), talosStack({ userData: 'machine: { type: controlplane } # let nobody read this' })].map(
      withRanges,
    ),
  },
  { world: clusterWorld, texts: [clusterStack(), clusterStack(4)].map(withRanges) },
  { world: hostWorld, texts: [sentStack(), sentStack({ cores: 4 })].map(withRanges) },
];

/** Longer than any lock or outage that a seed can draw, and than an installation. */
const CALM_MS = 1_200_000;
const RUNS_PER_STACK = 2;

export interface StormEnd {
  readonly complaints: readonly string[];
  readonly strikes: readonly { readonly kind: FaultKind }[];
  readonly codes: readonly string[];
  readonly kills: number;
  readonly scene: Scene;
}

/** There are few transfers in a story, so each of them is struck rather than not. */
export async function storm(seed: number): Promise<StormEnd> {
  const random = seededRandom(`from bare ${seed}`);
  const tale = TALES[seed % TALES.length] as Tale; // an index within the list
  const rules = seededRules(random.fork('faults')).map((rule) =>
    isTransferKind(rule.kind) ? { ...rule, probability: 0.6 } : rule,
  );
  const faults = ruleFaults(rules, random.fork('strikes'));
  const scene = new Scene({ seed, world: tale.world, faults, sources: SOURCES });
  const before = strangersPicture(scene.world);
  const codes: string[] = [];
  let kills = 0;
  for (const text of tale.texts) {
    for (let run = 1; run <= RUNS_PER_STACK; run++) {
      const chance = random.fork(`${text.length} ${run}`);
      scene.killAt = chance.next() < 0.4 ? randomInteger(chance, 1, 350) : undefined;
      const end = await scene.apply(text);
      codes.push(...codesOf(end));
      if (end.kind === 'killed') kills++;
      else if (failuresOf(end).length === 0) break;
    }
  }
  scene.killAt = undefined;
  faults.stop();
  await scene.clock.advance(CALM_MS);
  administer(scene);
  const text = tale.texts.at(-1) ?? '';
  return {
    complaints: [
      ...codes.filter((code) => code === 'INVARIANT').map((code) => `a run ended with ${code}`),
      ...(await complaintsAfter(scene, text, before, { retired: undefined })),
      ...(await complaintsAfterDestroy(scene, text, before)),
    ],
    strikes: faults.strikes,
    scene,
    codes,
    kills,
  };
}
