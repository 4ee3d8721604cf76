/** The sections around the VMs: connection, defaults, rollout and outputs. */
import type { z } from 'zod';
import type { Where } from '../base/diagnostics.ts';
import type { Findings } from './findings.ts';
import { checkShape } from './issues.ts';
import { describeKind, type Entry, emptyMap, type LocatedMap } from './located.ts';
import { connectionSchema, imageSchema, outputsSchema, rolloutSchema, templateSchema } from './stack-schema.ts';
import type { ConnectionSpec, OutputsSpec, Rollout } from './types.ts';

export function readConnection(entry: Entry | undefined, findings: Findings): ConnectionSpec {
  if (!entry) return {};
  const { keyAt, value } = entry;
  const connection =
    checkShape(connectionSchema, value, { subject: '"connection"', section: 'connection', keyAt, findings }) ?? {};
  if (connection.fingerprint !== undefined && connection.ca !== undefined) {
    findings.add({
      code: 'BAD_VALUE',
      where: keyAt,
      detail: '"fingerprint" and "ca" exclude each other: the certificate is believed for one reason.',
      hint: 'Keep "ca" if the server’s certificate is renewed from time to time, else "fingerprint".',
    });
  }
  return connection;
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

/** Why the pauses make no sense together; undefined where they do. */
export function retryProblem({ firstMs, maxMs }: Rollout['retry']): string | undefined {
  if (maxMs >= firstMs) return undefined;
  return '"rollout.retry.max" is shorter than "rollout.retry.first"; the first pause cannot exceed the longest.';
}

export function rolloutOf(written: z.output<typeof rolloutSchema>): Rollout {
  const { stagger, readiness, on_failure, retry, limits, timeouts } = written;
  return {
    staggerMs: stagger,
    readiness,
    onFailure: on_failure,
    retry: { attempts: retry.attempts, firstMs: retry.first, maxMs: retry.max },
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
      startMs: timeouts.start,
      readyMs: timeouts.ready,
      shutdownMs: timeouts.shutdown,
      lockMs: timeouts.lock,
      imageMs: timeouts.image,
    },
  };
}

/** Fields for every VM; they are checked with each VM they end up in. */
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

/** Their shape is checked, so that a file can be prepared; using them is refused rather than ignored. */
export function refuseImagesAndTemplates(
  images: Entry | undefined,
  templates: Entry | undefined,
  findings: Findings,
): void {
  refuseSection('images', images, imageSchema, findings);
  refuseSection('templates', templates, templateSchema, findings);
}

function refuseSection(name: string, entry: Entry | undefined, schema: z.ZodType, findings: Findings): void {
  if (!entry || entry.value.kind === 'unknown') return;
  const { keyAt, value } = entry;
  if (value.kind !== 'map') {
    findings.add({
      code: 'BAD_VALUE',
      where: value.at,
      detail: `"${name}" must be a map from names; it is ${describeKind(value)}.`,
    });
    return;
  }
  if (value.entries.size === 0) return;
  for (const [key, each] of value.entries) {
    checkShape(schema, each.value, {
      subject: `"${name}.${key}"`,
      section: `${name}.${key}`,
      keyAt: each.keyAt,
      findings,
    });
  }
  findings.add({
    code: 'BAD_VALUE',
    where: keyAt,
    detail: `"${name}" is not supported yet.`,
    hint: 'Make the template on the server, and name it under clone: { template: … }.',
  });
}
