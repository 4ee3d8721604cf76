/**
 * `vm.seed` and `vm.unseed`: upload the volume with custom cloud-init files, and remove it when no drive holds it any
 * more. Each file is recorded before its upload, so that no file outlives its VM unnoticed.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { invariant, isCanceled, ProxwrightError } from '../../../../base/errors.ts';
import type { Secret } from '../../../../base/secret.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { follow } from '../../../safety/tasks.ts';
import { drivesOf } from '../../config/disks.ts';
import { macsOf } from '../../config/parts.ts';
import type { VmObserved } from '../../observed.ts';
import type { SeedFile } from '../../record.ts';
import { type SeedSource, seedBytes, seedOf } from '../../seed/documents.ts';
import type { SeedFields } from '../../seed/fields.ts';
import type { VmAction, VmContext } from '../context.ts';
import { inRounds, look, lookIfThere } from '../safety/look.ts';

export interface SeedInput {
  /** A storage with the content type iso. */
  readonly storage: string;
  readonly fields: SeedFields;
}

export interface UnseedInput {
  /** Also remove the current one: the VM no longer has custom cloud-init files. */
  readonly all?: true;
}

/** A seed has about ten kilobytes; only an unresponsive storage takes longer. */
const TRANSFER_MS = 5 * 60_000;

/** Afterwards the record's `seed` names the volume for the drive. Every NIC must exist before. */
export const sendSeed: VmAction<SeedInput> = (context, { storage, fields }) =>
  inRounds(context, 'seed', async () => {
    const vm = await look(context);
    const { node } = vm;
    const volumes = [context.recorded()?.seed?.volid, ...heldVolumes(vm)];
    const seed = seedOf(sourceOf(context, fields, vm), volumes);
    const bytes = seedBytes(seed.documents);
    const file: SeedFile = { node, volid: `${storage}:iso/${seed.fileName}` };
    if ((await sizeOf(context, file)) !== bytes.length) {
      await context.intend({ vmid: vm.vmid, ...file }, { oldSeeds: joined(context.recorded()?.oldSeeds, file) });
      await send(context, file, seed.fileName, bytes);
    }
    await record(context, { ...file, digest: seed.digest }, heldOf(vm, fields));
    return 'done';
  });

/** Removes replaced seeds. One that a drive still holds stays, and stays recorded. */
export const removeSeeds: VmAction<UnseedInput> = async (context, { all }) => {
  const vm = await lookIfThere(context);
  const held = vm ? heldVolumes(vm) : new Set<string>();
  const { seed, oldSeeds } = context.recorded() ?? {};
  const old = joined(oldSeeds, all && seed);
  if (old.length === 0) return;
  await context.intend({ unseed: old.map(({ volid }) => volid) });
  const kept: SeedFile[] = [];
  for (const file of old) {
    if (held.has(file.volid)) kept.push(file);
    else if (!(await removeFile(context, file))) kept.push({ ...file, stuck: true });
  }
  await context.learn({ oldSeeds: kept });
};

/** Removes all seeds of a VM that is gone. */
export async function removeAllSeeds(context: VmContext): Promise<void> {
  const recorded = context.recorded();
  for (const file of joined(recorded?.oldSeeds, recorded?.seed)) await removeFile(context, file);
}

function sourceOf(context: VmContext, fields: SeedFields, vm: VmObserved): SeedSource {
  invariant(vm.uuid !== undefined, `${context.address} has no uuid.`);
  const secrets: Partial<Record<keyof SeedSource['secrets'], Secret>> = {};
  for (const document of fields.own) secrets[document] = known(context, `cloud_init.${document}`);
  if (fields.hasPassword) secrets.password = known(context, 'cipassword');
  return { fields, macs: macsOf(new Map([...vm.current, ...vm.pending])), uuid: vm.uuid, secrets };
}

function known(context: VmContext, key: string): Secret {
  const secret = context.secret(key);
  invariant(secret !== undefined, `${context.address}: "${key}" was not read.`);
  return secret;
}

async function send(context: VmContext, file: SeedFile, filename: string, bytes: Uint8Array): Promise<void> {
  const { node, volid } = file;
  context.progress('seed');
  const checksum = { algorithm: 'sha256', value: createHash('sha256').update(bytes).digest('hex') } as const;
  const upid = await context.pve
    .node(node)
    .storage(storageOf(volid))
    .upload({ content: 'iso', filename, bytes, checksum }, { signal: context.signal });
  await follow(context, upid, { what: `upload of ${volid}`, timeoutMs: TRANSFER_MS });
}

/** An unrecorded file of this VM in a drive. A clone may carry the file of another VM, under that VM's name. */
function heldOf(vm: VmObserved, { name }: SeedFields): SeedFile | undefined {
  const own = [...heldVolumes(vm)].find((volid) =>
    new RegExp(`:iso/proxwright-${name}-[0-9a-f]{16}\\.iso$`).test(volid),
  );
  return own === undefined ? undefined : { node: vm.node, volid: own };
}

/** A drive still holds the previous one; it is removed once the drive does not. */
async function record(
  context: VmContext,
  seed: SeedFile & { readonly digest: string },
  held: SeedFile | undefined,
): Promise<void> {
  const { seed: before = held, oldSeeds = [] } = context.recorded() ?? {};
  const old = joined(oldSeeds, before).filter((file) => !isSame(file, seed));
  const isKnown = isDeepStrictEqual(context.recorded()?.seed, seed) && old.length === oldSeeds.length;
  if (!isKnown) await context.learn({ seed, oldSeeds: old });
}

/** True if the file is gone. A file that cannot be removed is a warning, not a failure. */
async function removeFile(context: VmContext, file: SeedFile): Promise<boolean> {
  const { node, volid } = file;
  try {
    await inRounds(context, 'remove seed', async () => {
      if ((await sizeOf(context, file)) === undefined) return 'done';
      const { content } = context.pve.node(node).storage(storageOf(volid));
      const upid = await content.delete(volid, {}, { signal: context.signal, attempts: 1 });
      if (upid !== undefined) await follow(context, upid, { what: `removal of ${volid}`, timeoutMs: TRANSFER_MS });
      return 'done';
    });
    return true;
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    context.log.log(
      'warn',
      `${context.address}: ${volid} is no longer needed, but could not be removed: ${error.diagnostic.detail} On ${node}: ${nodeCommand('pvesm free', [volid])}`,
      { node, volid, code: error.code },
    );
    return false;
  }
}

/** Undefined if the storage has no such file. */
async function sizeOf(context: VmContext, { node, volid }: SeedFile): Promise<number | undefined> {
  const { content } = context.pve.node(node).storage(storageOf(volid));
  const listed = await content.list({ content: 'iso' }, { signal: context.signal });
  const volume = listed.find((volume) => volume.volid === volid);
  return volume && (volume.size ?? 0);
}

/** Volumes in its drives, now or after a restart. */
export function heldVolumes({ current, pending }: Pick<VmObserved, 'current' | 'pending'>): Set<string> {
  return new Set([...drivesOf(current), ...drivesOf(pending)].map(({ file }) => file));
}

function joined(files: readonly SeedFile[] = [], more?: SeedFile): SeedFile[] {
  if (!more || files.some((file) => isSame(file, more))) return [...files];
  return [...files, { node: more.node, volid: more.volid }];
}

function isSame(left: SeedFile, right: SeedFile): boolean {
  return left.node === right.node && left.volid === right.volid;
}

function storageOf(volid: string): string {
  return volid.slice(0, volid.indexOf(':'));
}
