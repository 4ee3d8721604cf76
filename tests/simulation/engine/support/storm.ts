/**
 * One scenario per seed: a stack is created and changed while faults of many kinds strike and some runs are killed. When it is
 * over the next apply must converge, and everything that must always hold is asked of the world.
 */
import { passwordCredentials } from '../../../../src/pve/index.ts';
import { type Strike, seededRandom } from '../../../../src/simulator/index.ts';
import { draftOf, saveConfig } from '../../../../src/simulator/vm/config/config-file.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy } from './invariants.ts';
import { type RunEnd, Scene, type SceneOptions } from './scene.ts';
import { shrink } from './shrink.ts';
import { MIXED, MIXED_CHANGED } from './stacks.ts';
import { faultsOf, killAt, printTrouble, type Trouble, troublesOf, weaker } from './troubles.ts';

export interface StormEnd {
  readonly complaints: readonly string[];
  readonly strikes: readonly Strike[];
  readonly codes: readonly string[];
  readonly scene: Scene;
}

/** Longer than any lock or outage that a seed can draw. */
export const CALM_MS = 600_000;
const RUNS_PER_STACK = 2;
const ROOT = passwordCredentials({ username: 'root@pam', password: 'proxwright' });

export async function storm(
  seed: number,
  options: SceneOptions = {},
  troubles: readonly Trouble[] = troublesOf(seed),
): Promise<StormEnd> {
  const scene = new Scene({
    seed,
    faults: faultsOf(troubles, seededRandom(`storm ${seed}`).fork('strikes')),
    // Tickets can expire, tokens cannot: both take part.
    ...(seed % 2 === 1 && { credentials: ROOT }),
    ...options,
  });
  const expectations = beforehand(scene);
  const codes: string[] = [];
  for (const [index, text] of [MIXED, MIXED_CHANGED].entries()) {
    for (let run = 1; run <= RUNS_PER_STACK; run++) {
      scene.killAt = killAt(troubles, index * RUNS_PER_STACK + run);
      const end = await scene.apply(text);
      codes.push(...codesOf(end));
      if (isWell(end)) break;
    }
  }
  scene.killAt = undefined;
  scene.faults.stop();
  await scene.clock.advance(CALM_MS);
  administer(scene);
  const complaints = [
    ...codes.filter((code) => code === 'INVARIANT').map((code) => `a run ended with ${code}`),
    ...(await complaintsAfter(scene, MIXED_CHANGED, expectations)),
    ...(await complaintsAfterDestroy(scene, MIXED_CHANGED, expectations)),
  ];
  return { complaints, strikes: scene.faults.strikes, codes, scene };
}

/** A defect may show as an error that is none of ours; a search for defects reports it too. */
export async function complaintsOf(seed: number, troubles = troublesOf(seed)): Promise<readonly string[]> {
  return storm(seed, {}, troubles).then(
    ({ complaints }) => complaints,
    (error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)],
  );
}

/** Of a seed that fails: the least trouble that still makes it fail, and how to see that again. */
export async function shortestFailure(seed: number): Promise<string> {
  const least = await shrink(
    troublesOf(seed),
    weaker,
    async (troubles) => (await complaintsOf(seed, troubles)).length > 0,
  );
  return [
    `it takes no more than ${least.length === 0 ? 'the calm itself' : least.map(printTrouble).join(', ')}`,
    `again: ${replayCommand(seed, least)}`,
  ].join('\n  ');
}

function isWell(end: RunEnd): boolean {
  return end.kind === 'ended' && ![...(end.result?.outcomes.values() ?? [])].some((outcome) => outcome !== 'done');
}

/**
 * What needs an administrator: a backup that could not take its lock away again, because another client held the file; and what a
 * killed task left locked, for which our error names these commands: `qm unlock` and `qm destroy`, for a VM
 * that is half made with `--destroy-unreferenced-disks 1`, as done here.
 */
export function administer(scene: Pick<Scene, 'world'>): void {
  for (const vm of [...scene.world.vms.values()]) {
    const lock = vm.config.current.get('lock') ?? '';
    if (['backup', 'snapshot', 'migrate'].includes(lock)) {
      const draft = draftOf(vm.config);
      draft.current.delete('lock');
      saveConfig(vm, draft);
    } else if (['create', 'clone', 'destroyed'].includes(lock)) {
      scene.world.vms.delete(vm.vmid);
      for (const storage of scene.world.storages.values()) {
        for (const volumes of storage.volumes.values()) {
          for (const [name, volume] of volumes) if (volume.vmid === vm.vmid) volumes.delete(name);
        }
      }
    }
  }
}

/** How to see the story of one seed again, with all its trouble or some of it. */
export function replayCommand(seed: number, troubles?: readonly Trouble[]): string {
  const some = troubles === undefined ? '' : ` --troubles '${troubles.map(printTrouble).join(',')}'`;
  return `npm run sim-test -- --seed ${seed}${some}`;
}
