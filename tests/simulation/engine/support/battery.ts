/**
 * The battery: by its seed a storm, one kind of trouble in one kind of step, an id that was recycled, or a server that loses
 * something of a write. What a defect does must show in one of them; that is tested with planted defects.
 */
import { randomInteger, seededRandom } from '../../../../src/base/random.ts';
import { lineOf } from '../../../../src/rehearse/trial/mortal-process.ts';
import { FAULT_KINDS } from '../../../../src/simulator/index.ts';
import {
  createVm,
  draftOf,
  emptyDraft,
  saveConfig,
  writtenConfig,
} from '../../../../src/simulator/vm/config/config-file.ts';
import { cell, isPossible, SCENARIOS } from './cells.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './invariants.ts';
import { resolved, Scene, type SceneOptions } from './scene.ts';
import { FIVE_VMS } from './stacks.ts';
import { storm } from './storm.ts';

export async function battery(seed: number, options: SceneOptions = {}): Promise<readonly string[]> {
  switch (seed % 4) {
    case 0:
      return (await storm(seed, options)).complaints;
    case 1:
      return drawnCell(seed, options);
    case 2:
      return lostKey(seed, options);
    default:
      return recycledId(seed, options);
  }
}

async function drawnCell(seed: number, options: SceneOptions): Promise<readonly string[]> {
  const random = seededRandom(`cell ${seed}`);
  const all = Object.keys(SCENARIOS).flatMap((action) =>
    FAULT_KINDS.filter((kind) => isPossible(kind, action)).map((kind) => ({ kind, action })),
  );
  const drawn = all[randomInteger(random, 0, all.length - 1)];
  return drawn ? (await cell(drawn.kind, drawn.action, randomInteger(random, 1, 3), options)).complaints : [];
}

/** Parts of a write that the server must not lose unnoticed; drives have volumes that would be orphaned. */
const LOSABLE = /^(?:memory|cores|name|tags|boot|description|ciuser|cipassword|ipconfig\d+)$/;

/** Between the write and the read that follows, a key of it goes from one of the VMs. */
async function lostKey(seed: number, options: SceneOptions): Promise<readonly string[]> {
  const scene = new Scene({ seed, ...options });
  const random = seededRandom(`lost key ${seed}`);
  const expectations = beforehand(scene);
  let left = randomInteger(random, 1, 5);
  let lost: string | undefined;
  scene.onEvent = (event) => {
    if (event.event !== 'stepStarted' || event.action !== 'vm.verify' || --left !== 0) return;
    const name = FIVE_NAMES[event.address];
    const vm = [...scene.world.vms.values()].find(({ config }) => config.current.get('name') === name);
    const body = scene.requests.findLast((request) => lineOf(request).endsWith(`/${vm?.vmid}/config`))?.body;
    const keys = [...new URLSearchParams(String(body ?? '')).keys()].filter((key) => LOSABLE.test(key));
    lost = keys[randomInteger(random, 0, keys.length - 1)];
    if (!vm || lost === undefined) return;
    const draft = draftOf(vm.config);
    draft.current.delete(lost);
    saveConfig(vm, draft);
  };
  const codes = codesOf(await scene.apply(FIVE_VMS));
  scene.onEvent = () => {};
  if (lost === undefined) return ['nothing was lost, so nothing was tested'];
  const found = codes.join() === 'CONFIG_CHANGED' ? [] : [`${lost} was lost, and what was said is: ${codes}`];
  return [...found, ...(await complaintsAfter(scene, FIVE_VMS, expectations))];
}

const FIVE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  resolved(FIVE_VMS).vms.map(({ address, fields }) => [address, fields.name]),
);

/** Our VM disappears, and another client's VM gets its id: before the next run, or in the middle of it. */
async function recycledId(seed: number, options: SceneOptions): Promise<readonly string[]> {
  const scene = new Scene({ seed, ...options });
  const failures = failuresOf(await scene.apply(FIVE_VMS));
  if (failures.length > 0) return failures;
  await scene.clock.advance(60_000);
  const isLate = seed % 8 === 3;
  if (isLate) {
    let isDone = false;
    scene.onRequest = (line) => {
      if (isDone || !line.startsWith('PUT')) return;
      isDone = true;
      recycle(scene, 404);
    };
  } else {
    recycle(scene, 404);
  }
  const end = await scene.apply(FIVE_VMS.replace('size: 10GiB', 'size: 14GiB').replace('4GiB', '5GiB'));
  const found = codesOf(end).includes('NOT_OURS') ? [] : [`the recycled id was not noticed: ${failuresOf(end)}`];
  const { current, pending } = scene.world.vms.get(404)?.config ?? {};
  const isTouched = current?.size !== STRANGER.size || pending?.size !== 0;
  return [...found, ...(isTouched ? ['the VM of another client was touched'] : []), ...scene.wireViolations];
}

const STRANGER = new Map([
  ['name', 'recycled'],
  ['memory', '512'],
  ['scsi0', 'local-lvm:vm-404-disk-0,size=10G'],
  ['smbios1', 'uuid=99999999-0000-4000-8000-000000000000'],
]);

export function recycle(scene: Scene, vmid: number): void {
  scene.world.vms.delete(vmid);
  const draft = emptyDraft();
  draft.current = new Map(STRANGER);
  createVm(scene.simulator.runtime, 'pve1', vmid, writtenConfig(draft));
}
