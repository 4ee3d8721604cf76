/** The errors with which waiting for a task can end. */
import { canceled, ProxwrightError } from '../../base/errors.ts';
import type { KnownSecrets } from '../../base/secret.ts';
import { hintFor } from '../errors/failures.ts';
import { findPhrase, findPhraseInLog } from '../errors/phrases.ts';
import { parseUpid, type Upid } from '../wire/ids.ts';

export interface TaskContext {
  readonly upid: Upid;
  readonly endpoint: string;
  readonly principal: string;
  readonly secrets: KnownSecrets;
}

/** Callers act on codes such as a lock or a taken id, so these stay; everything else is `TASK_FAILED`. */
export function taskFailed(context: TaskContext, exitstatus: string, log: readonly string[]): ProxwrightError {
  const lines = log.filter((line) => !line.startsWith('TASK ERROR:'));
  const { secrets } = context;
  const serverSaid = secrets.redact(exitstatus);
  const taskLog = lines.map((line) => secrets.redact(line));
  const detail = [
    `${taskName(context.upid)} ended with: "${serverSaid}".`,
    ...(taskLog.length > 0 ? ['Last lines of its log:', ...taskLog.map((line) => `  ${line}`)] : []),
  ].join('\n');
  const reason = reasonOf(exitstatus, lines);
  const phrase = findPhrase(reason) ?? findPhraseInLog(lines);
  return new ProxwrightError({
    code: phrase?.code ?? 'TASK_FAILED',
    subject: phrase?.subject,
    detail,
    where: whereOf(context),
    hint: phrase && hintFor(phrase, secrets.redact(reason), context.principal),
    facts: { serverSaid, taskLog },
  });
}

/** With the time and level that start every line of a migration (pve-guest-common AbstractMigrate.pm). */
const WHY_ABORTED = /^\S+ \S+ ERROR: migration aborted \(duration [\d:]+\): (.+)$/;

/** A failed migration always ends with the same two words; only one line of its log gives the reason. */
function reasonOf(exitstatus: string, lines: readonly string[]): string {
  if (exitstatus.trim() !== 'migration aborted') return exitstatus;
  const reasons = lines.flatMap((line) => WHY_ABORTED.exec(line)?.[1] ?? []);
  return reasons.at(-1) ?? exitstatus;
}

export function taskUnclear(context: TaskContext, exitstatus: string, log: readonly string[]): ProxwrightError {
  const failed = taskFailed(context, exitstatus, log);
  return new ProxwrightError({
    code: 'TASK_FAILED',
    detail: `${failed.diagnostic.detail}\nIts worker was killed, or the node went down. Its work may be half done.`,
    where: whereOf(context),
    facts: failed.diagnostic.facts,
  });
}

export function taskVanished(context: TaskContext, forMs: number): ProxwrightError {
  return new ProxwrightError({
    code: 'TASK_VANISHED',
    detail: `The node still does not know ${taskName(context.upid)} after ${durationText(forMs)}.`,
    where: whereOf(context),
    hint: 'Its log was removed, or the node was reinstalled. Check the VM itself to see what was done.',
  });
}

export function taskTimedOut(context: TaskContext, timeoutMs: number, lastLine: string | undefined): ProxwrightError {
  return new ProxwrightError({
    code: 'TASK_TIMEOUT',
    detail: [
      `Waited ${durationText(timeoutMs)} for ${taskName(context.upid)}, the whole time allowed. It is still running on the server.`,
      ...(lastLine ? [`Its log ends with: "${context.secrets.redact(lastLine)}".`] : []),
    ].join('\n'),
    where: whereOf(context),
    hint: 'Allow more time, or check the task in the web interface.',
  });
}

export function waitCanceled(context: TaskContext, cause: ProxwrightError): ProxwrightError {
  const name = taskName(context.upid);
  return canceled(`Stopped waiting for ${name}. The task is still running on the server: ${context.upid}`, cause);
}

/** `qmclone 9000 on pve1`. */
export function taskName(upid: Upid): string {
  const parts = parseUpid(upid);
  return parts ? `${[parts.type, parts.id].filter(Boolean).join(' ')} on ${parts.node}` : upid;
}

export function durationText(ms: number): string {
  if (ms < 60_000) return `${Math.round(ms / 100) / 10}s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [hours > 0 && `${hours}h`, `${minutes}m`, hours === 0 && `${seconds % 60}s`].filter(Boolean).join(' ');
}

const whereOf = (context: TaskContext) => ({ endpoint: context.endpoint, upid: context.upid });
