/** Kills a run that begins with a bare host, or with what an earlier one made of it, wherever it can be killed. */
import { crashEverywhere } from '../../engine/support/crash-everywhere.ts';
import { failuresOf } from '../../engine/support/invariants.ts';
import { pictureOf } from '../../engine/support/picture.ts';
import { type RunEnd, Scene, type SceneOptions, type Snapshot } from '../../engine/support/scene.ts';
import { filesOf, ourVms, strangersPicture } from './invariants.ts';
import { STRANGERS } from './worlds.ts';

/** Every point takes minutes; by default some of them are drawn, others in each story. */
const STRIDE = 19;

export interface Story {
  readonly name: string;
  readonly world: NonNullable<SceneOptions['world']>;
  /** Carried through before, one after the other. */
  readonly earlier?: readonly ((scene: Scene) => Promise<RunEnd>)[];
  readonly run: (scene: Scene) => Promise<RunEnd>;
  readonly complaints: (scene: Scene, before: string) => Promise<string[]>;
  readonly tasks: readonly string[];
  readonly options?: Omit<SceneOptions, 'world' | 'from'>;
}

/** The guests have booted by then. */
const SETTLED_MS = 120_000;

export async function beginning({ world, earlier = [], options }: Story): Promise<Snapshot> {
  const scene = new Scene({ ...options, world });
  for (const run of earlier) {
    const failures = failuresOf(await run(scene));
    if (failures.length > 0) throw new Error(failures.join('\n'));
  }
  await scene.clock.advance(SETTLED_MS);
  return scene.snapshot();
}

export async function crashes(story: Story): Promise<string[]> {
  const from = await beginning(story);
  const before = strangersPicture(from.world);
  return crashEverywhere({
    name: story.name,
    from,
    options: story.options,
    stride: STRIDE,
    run: story.run,
    complaints: async (scene) => [...(await story.complaints(scene, before)), ...fetchedTwice(scene)],
    picture: ({ world }) => facts(world),
    tasks: story.tasks,
  });
}

/** A file that is there is compared, which is a task too, but nothing is fetched a second time. */
function fetchedTwice({ world }: Scene): string[] {
  const fetched = [...world.tasks.values()].filter(
    ({ type, log }) => type === 'download' && !log.some((line) => line.includes('got correct file already')),
  );
  const names = fetched.map(({ id }) => id);
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name} was fetched twice`);
}

/** What must be the same with and without a kill: our VMs, templates among them, and the files in the storages. */
function facts(world: Parameters<typeof filesOf>[0]): string[] {
  const templates = ourVms(world).filter(({ vmid }) => vmid >= 9000);
  return [
    ...pictureOf(world, STRANGERS).map(withoutSums),
    ...templates.flatMap(({ vmid, node, config }) =>
      [...config.current.keys()].map((key) => `${vmid} on ${node} has ${key}`),
    ),
    ...filesOf(world).map(withoutSums),
  ].sort();
}

/** A seed is called after what is in it, and that depends on the MAC address and the uuid. */
function withoutSums(fact: string): string {
  return fact.replace(/-[0-9a-f]{16}\.iso/g, '-(sum).iso').replace(/recipe=\w+/, '(recipe)');
}
