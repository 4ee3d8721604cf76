/**
 * The lock of Terraform's HTTP protocol: what we send, and what a refusal tells about the run that holds it.
 *
 * GitLab keeps only the ID of a lock, its user and its time. It fills the other fields of a refusal with those of the run
 * that was refused: https://gitlab.com/gitlab-org/gitlab/-/blob/master/lib/api/terraform/state.rb
 */
import { z } from 'zod';
import { type Random, randomUuid } from '../../base/random.ts';
import { parseJson } from '../../base/text/safe-text.ts';
import { UNREADABLE_OWNER } from '../lock-refusal.ts';
import { factsOf, lifeOf, processSchema } from '../process-life.ts';
import type { LockHolder, LockOwner } from '../store.ts';

/** What Terraform sends with LOCK. `Info` holds what only Proxwright understands. */
export const httpLockSchema = z.looseObject({
  ID: z.string(),
  Operation: z.string().default(''),
  Who: z.string().default(''),
  Created: z.string().default(''),
  Info: z.string().default(''),
});
export type HttpLock = z.output<typeof httpLockSchema>;

const infoSchema = z.object({
  /** The ID of the lock that this describes. Absent in locks of earlier versions. */
  id: z.string().optional(),
  runId: z.string(),
  who: z.string(),
  host: z.string(),
  pid: z.number(),
  process: processSchema.optional(),
});

export async function httpLockOf(owner: LockOwner, random: Random): Promise<HttpLock> {
  const { runId, who, host, pid, since, command } = owner;
  const id = randomUuid(random);
  const info: z.input<typeof infoSchema> = { id, runId, who, host, pid, process: await factsOf(pid) };
  return {
    ID: id,
    Operation: command,
    Who: `${who}@${host}`,
    Created: since,
    Info: JSON.stringify(info),
    Version: 'Proxwright',
    Path: '',
  };
}

/** Who holds `lock`, which the server returned when it refused `ours`. `known`: the last lock of this directory. */
export async function holderOf(lock: HttpLock, ours: HttpLock, known: HttpLock | undefined): Promise<LockHolder> {
  const told = lock.Info === ours.Info ? { ...lock, Info: '', Operation: '' } : lock;
  const { ID, Operation, Who, Created, Info } = known?.ID === lock.ID ? known : told;
  const { data: info } = infoSchema.safeParse(parseJson(Info));
  if (!info || (info.id !== undefined && info.id !== ID)) {
    const owner = { ...UNREADABLE_OWNER, runId: ID, who: Who || 'another tool', since: Created, command: Operation };
    return { owner, life: 'unknown', doubt: 'the server does not say which process holds it' };
  }
  const { process: facts, id: _, ...rest } = info;
  const owner: LockOwner = { ...rest, since: Created, command: Operation };
  return { owner, ...(await lifeOf(owner, facts)) };
}
