/** Reads the sections other than VMs: connection, defaults, rollout and outputs; and maps from names in general. */
import type { z } from 'zod';
import type { Where } from '../../base/diagnostics.ts';
import type { ConnectionSpec, OutputsSpec, Rollout, StateSpec } from '../../kinds/stack.ts';
import { describeKind, type Entry, emptyMap, type LocatedMap, quote } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { checkShape } from '../problems/issues.ts';
import { connectionSchema, outputsSchema, rolloutSchema, stateSchema } from '../stack-schema.ts';

export function readConnection(entry: Entry | undefined, findings: Findings): ConnectionSpec {
  if (!entry) return {};
  const { keyAt, value } = entry;
  const connection =
    checkShape(connectionSchema, value, { subject: '"connection"', section: 'connection', keyAt, findings }) ?? {};
  if (connection.fingerprint !== undefined && connection.ca !== undefined) {
    findings.add({
      code: 'BAD_VALUE',
      where: keyAt,
      detail: '"fingerprint" and "ca" cannot be used together: one of them says which certificate to trust.',
      hint: 'Keep "ca" if the server’s certificate is renewed from time to time, otherwise "fingerprint".',
    });
  }
  return connection;
}

export function readStateSection(entry: Entry | undefined, findings: Findings): StateSpec | undefined {
  if (!entry) return undefined;
  const { keyAt, value } = entry;
  return checkShape(stateSchema, value, { subject: '"state"', section: 'state', keyAt, findings });
}

export function readOutputs(entry: Entry | undefined, findings: Findings): OutputsSpec {
  if (!entry) return {};
  return (
    checkShape(outputsSchema, entry.value, {
      subject: '"outputs"',
      section: 'outputs',
      keyAt: entry.keyAt,
      findings,
    }) ?? {}
  );
}

export function readRollout(entry: Entry | undefined, start: Where, findings: Findings): Rollout {
  const { keyAt, value } = entry ?? { keyAt: start, value: emptyMap(start) };
  const written = checkShape(rolloutSchema, value, { subject: '"rollout"', section: 'rollout', keyAt, findings });
  const rollout = rolloutOf(written ?? rolloutSchema.parse({}));
  const detail = retryProblem(rollout.retry);
  if (detail !== undefined) findings.add({ code: 'BAD_VALUE', where: keyAt, detail });
  return rollout;
}

/** Why the pauses contradict each other; undefined if they do not. */
export function retryProblem({ firstMs, maxMs }: Rollout['retry']): string | undefined {
  if (maxMs >= firstMs) return undefined;
  return '"rollout.retry.max" is shorter than "rollout.retry.first". The first pause cannot exceed the longest.';
}

export function rolloutOf(written: z.output<typeof rolloutSchema>): Rollout {
  const { stagger, readiness, on_failure, update, disk_move_limit, retry, limits, timeouts } = written;
  return {
    staggerMs: stagger,
    readiness,
    onFailure: on_failure,
    update,
    ...(disk_move_limit !== undefined && { diskMoveBytesPerSecond: disk_move_limit }),
    retry: {
      ...(retry.attempts !== undefined && { attempts: retry.attempts }),
      firstMs: retry.first,
      maxMs: retry.max,
    },
    limits: {
      vms: limits.vms,
      clonesPerNode: limits.clones_per_node,
      clonesPerStorage: limits.clones_per_storage,
      destroys: limits.destroys,
      requests: limits.requests,
      agentCalls: limits.agent_calls,
      groupSize: limits.group_size,
    },
    timeouts: {
      cloneMs: timeouts.clone,
      diskMoveMs: timeouts.disk_move,
      startMs: timeouts.start,
      readyMs: timeouts.ready,
      shutdownMs: timeouts.shutdown,
      lockMs: timeouts.lock,
      imageMs: timeouts.image,
      unreachableMs: timeouts.unreachable,
    },
  };
}

/** Fields for every VM. They are checked as part of each VM they are merged into. */
export function readDefaults(entry: Entry | undefined, root: LocatedMap, findings: Findings): LocatedMap {
  if (!entry || entry.value.kind === 'unknown') return emptyMap(root.at);
  if (entry.value.kind === 'map') return entry.value;
  findings.add({
    code: 'BAD_VALUE',
    where: entry.value.at,
    detail: `"defaults" must be a map of VM fields; it is ${describeKind(entry.value)}.`,
  });
  return emptyMap(root.at);
}

/** The parts of a section that is a map from names. A part with an invalid name is reported and left out. */
export function namedParts(
  section: string,
  entry: Entry | undefined,
  names: { readonly schema: z.ZodType; readonly word: string },
  findings: Findings,
): readonly (readonly [name: string, part: Entry])[] {
  if (!entry || entry.value.kind === 'unknown') return [];
  if (entry.value.kind !== 'map') {
    findings.add({
      code: 'BAD_VALUE',
      where: entry.value.at,
      detail: `"${section}" must be a map from ${names.word} names to fields; it is ${describeKind(entry.value)}.`,
    });
    return [];
  }
  return [...entry.value.entries].filter(([name, { keyAt }]) => {
    const result = names.schema.safeParse(name);
    for (const issue of result.error?.issues ?? []) {
      const why = issue.code === 'too_big' ? `it is longer than ${issue.maximum} characters` : issue.message;
      findings.add({
        code: 'BAD_VALUE',
        where: keyAt,
        detail: `${quote(name)} cannot name ${withArticle(names.word)}: ${why}.`,
      });
    }
    return result.success;
  });
}

function withArticle(word: string): string {
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
}
