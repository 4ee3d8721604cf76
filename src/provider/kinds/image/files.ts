/**
 * The file of an image: what a storage has under its name, which tasks of this token work on it, and what is recorded
 * about it.
 */
import { z } from 'zod';
import { placeOfVolume } from '../../../kinds/image/file.ts';
import { type FileRecord, fileRecordSchema } from '../../../kinds/image/record.ts';
import { type FilePlace, volidOf } from '../../../kinds/image/steps.ts';
import { type Pve, parseUpid, type TaskEntry, type VolumeEntry } from '../../../pve/index.ts';
import { textAt } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { endOfTask } from '../../adapter/earlier-tasks.ts';
import { privateFormat } from '../../adapter/private-state.ts';
import type { CtyObject } from '../../cty/value.ts';
import type { DesiredImage } from './desired.ts';

const schema = z.object({
  /** As the storage listed it when it arrived. Absent where nothing usable was recorded. */
  file: fileRecordSchema.optional(),
  /** We created it: it did not exist before its resource, so it is deleted with it. */
  brought: z.boolean(),
  /** All nodes see the same storage. */
  shared: z.boolean(),
  /** Another client has written to the file since. */
  changed: z.literal(true).optional(),
});

export type ImagePrivate = z.output<typeof schema>;

/** Without a record, the file counts as one that existed before. */
export const IMAGE_PRIVATE_STATE = privateFormat<ImagePrivate>(schema, { brought: false, shared: false });

export function placeOfState(state: CtyObject): FilePlace {
  return { node: textAt(state, 'node') ?? '', ...placeOfVolume(textAt(state, 'id') ?? '') };
}

/** What the engine records of a file that exists. */
export function recordedFile({ image }: DesiredImage, place: FilePlace, { size, ctime }: VolumeEntry): FileRecord {
  const { url, sha256, sha512 } = image.fields;
  return {
    address: image.address,
    node: place.node,
    volid: volidOf(place),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
    sizeBytes: size ?? 0,
    ...(ctime !== undefined && { ctime }),
  };
}

export async function findFile(
  pve: Pve,
  place: FilePlace,
  signal: AbortSignal | undefined,
): Promise<VolumeEntry | undefined> {
  const { node, storage, content } = place;
  const entries = await pve.node(node).storage(storage).content.list({ content }, { signal });
  return entries.find(({ volid }) => volid === volidOf(place));
}

/**
 * Waits for downloads and copies to this name that another process left running, so that nothing is started
 * concurrently. Their result is not ours: stacks that share a token look alike, and a provider that died left no record
 * of what it began.
 */
export async function settleEarlier(deps: Deps, place: FilePlace): Promise<void> {
  for (const task of await tasksFor(deps, place)) {
    if ((task.status ?? 'RUNNING') === 'RUNNING') await endOfTask(deps, task.upid, deps.rollout.timeouts.imageMs);
  }
}

/** Active downloads and copies of this token to this name. */
async function tasksFor(deps: Deps, { node, file }: FilePlace): Promise<TaskEntry[]> {
  const { work, signal } = deps;
  const isOurs = ({ upid }: TaskEntry) => parseUpid(upid)?.user === work.principal;
  const list = async (on: string, typefilter: string) =>
    (await work.node(on).tasks.list({ source: 'active', typefilter, limit: 500 }, { signal })).filter(isOurs);
  const downloads = (await list(node, 'download')).filter(({ id }) => id === file);
  // A copy runs on the node that received the upload, and only its log says what it copies.
  const copies = new Map<string, TaskEntry>();
  for (const on of new Set(['localhost', node])) {
    for (const task of await list(on, 'imgcopy')) copies.set(task.upid, task);
  }
  const found = [...downloads];
  for (const task of copies.values()) {
    const target = (await logOf(deps, task)).find((line) => line.startsWith('target file: '));
    if (target === undefined || target.endsWith(`/${file}`)) found.push(task);
  }
  return found;
}

async function logOf({ work, signal }: Deps, { upid, node }: TaskEntry): Promise<string[]> {
  const { entries } = await work.node(node).tasks.log(upid, { start: 0, limit: 50 }, { signal });
  return entries.map(({ t }) => t);
}
