/**
 * What `--json` prints, as schemas: the reference page and the JSON Schema files are generated from them, and a test compares
 * real output with them. Fields may be added; removing a field or changing its meaning makes a new version.
 */
import { z } from 'zod';
import { JSON_SCHEMA_VERSION } from '../../src/cli/views/view.ts';

const schema = z.literal(JSON_SCHEMA_VERSION).describe('Version of these documents.');
const time = z.string().describe('ISO 8601.');
const text = (about: string) => z.string().describe(about);

const where = z.looseObject({
  file: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  address: z.string().optional(),
  field: z.string().optional(),
});

const diagnostic = z.looseObject({
  severity: z.enum(['error', 'warning']),
  code: text('Stable; see the troubleshooting page.'),
  summary: z.string(),
  detail: z.string(),
  where: where.optional(),
  hint: z.looseObject({ text: z.string() }).optional(),
});

const difference = z.looseObject({
  path: text('Field of the stack file: `nics.net0.vlan`.'),
  key: text('Key of Proxmox.'),
  before: z.unknown().describe('Observed value; null where nothing is set.'),
  after: z.unknown().describe('Desired value.'),
  by: z.enum(['file', 'others', 'both']).describe('Who changed it since the last apply.'),
  effect: z.enum(['live', 'restart', 'impossible']),
});

const KINDS = ['create', 'complete', 'update', 'replace', 'supersede', 'delete', 'keep', 'forget', 'none'] as const;

const change = z.looseObject({
  address: z.string(),
  kind: z.enum(KINDS),
  name: z.string(),
  node: z.string(),
  vmid: z.int().optional(),
  reason: z.string(),
  differences: z.array(difference),
  restarts: z.boolean(),
  restartPending: z.array(z.string()),
  destroys: z
    .array(z.looseObject({ slot: z.string(), volume: z.string(), sizeBytes: z.number().optional() }))
    .optional()
    .describe('Volumes that this change destroys.'),
});

const planFields = {
  version: z.int().describe('Version of plans and plan files.'),
  stack: z.string(),
  createdAt: time,
  changes: z.array(change).describe('One for each resource, for people.'),
  steps: z
    .array(z.looseObject({ id: z.string(), address: z.string(), action: z.string(), needs: z.array(z.string()) }))
    .describe('What apply executes; empty if there is nothing to do.'),
  warnings: z.array(diagnostic),
  fingerprints: z.looseObject({ stack: z.string(), state: z.string(), vms: z.record(z.string(), z.string()) }),
};

const OUTCOMES = ['done', 'failed', 'canceled', 'interrupted', 'unfinished'] as const;

const runFields = {
  schema,
  runId: z.string(),
  command: z.string(),
  who: text('User of the machine.').optional(),
  startedAt: time.optional(),
  endedAt: time.optional(),
  durationMs: z.number().optional(),
  outcome: z.enum(OUTCOMES),
  notes: z.array(z.string()),
  source: z
    .looseObject({
      host: z.string(),
      commandLine: text('Without secrets.'),
      repository: z
        .looseObject({ commit: z.string(), branch: z.string().optional(), dirty: z.boolean().optional() })
        .optional(),
      ci: z.looseObject({ system: z.string(), user: z.string().optional(), url: z.string().optional() }).optional(),
    })
    .optional()
    .describe('Where the run was started.'),
};

const step = z.looseObject({
  step: z.string(),
  address: z.string(),
  action: z.string(),
  startedAt: time,
  outcome: z.enum(['done', 'failed', 'open']),
  tasks: z.array(z.string()).describe('UPIDs.'),
});

const rehearsedStep = z.looseObject({
  step: z.string(),
  address: z.string(),
  action: z.string(),
  startedAt: time,
  durationMs: z.number().optional(),
  outcome: z.enum(['done', 'failed', 'open']),
});

const peak = z.looseObject({ beforeBytes: z.number(), peakBytes: z.number(), totalBytes: z.number() });

const trialFailure = z.looseObject({
  at: text('The point or the seed.'),
  complaints: z.array(z.string()),
  again: z.array(z.string()).describe('Options that repeat it.'),
});

const finding = z.looseObject({ check: z.string(), verdict: z.string(), words: z.string() });

export interface JsonDocument {
  /** Of its JSON Schema file. */
  readonly name: string;
  readonly command: string;
  readonly about: string;
  readonly schema: z.ZodType;
}

export const JSON_DOCUMENTS: readonly JsonDocument[] = [
  {
    name: 'plan',
    command: 'plan --json',
    about: 'The plan.',
    schema: z.looseObject({ schema, ...planFields }),
  },
  {
    name: 'rehearse',
    command: 'rehearse --json',
    about: 'A rehearsal: the predicted run, the room it takes, and what would fail.',
    schema: z.looseObject({
      schema,
      stack: z.string(),
      ok: z.boolean().describe('Whether the apply would end well.'),
      tookMs: z.number().describe('Predicted, from the first step to the last.'),
      fastestMs: z.number(),
      slowestMs: z.number(),
      run: z.looseObject({ runId: z.string(), outcome: z.enum(OUTCOMES), steps: z.array(rehearsedStep) }),
      peaks: z.array(z.looseObject({ node: z.string(), memory: peak, storages: z.array(peak) })),
      order: z.array(z.looseObject({ address: z.string(), what: z.string(), afterMs: z.number() })),
      warnings: z.array(diagnostic),
      problems: z.array(diagnostic),
      planDifferences: z.array(z.string()).describe('Empty if the rehearsed plan is the real one.'),
      durations: z.array(z.string()).describe('Where each duration comes from.'),
      assumptions: z.array(z.string()),
      reads: z.int().describe('Requests to the live cluster.'),
      interruptions: z
        .looseObject({ points: z.int(), resumed: z.int(), failures: z.array(trialFailure) })
        .optional()
        .describe('With --interrupt.'),
      storms: z
        .looseObject({ seeds: z.int(), survived: z.int(), strikes: z.int(), failures: z.array(trialFailure) })
        .optional()
        .describe('With --faults.'),
    }),
  },
  {
    name: 'apply',
    command: 'apply --json',
    about:
      'One document per line: the plan, events of the run, and at the end the result. Those of `destroy` are the same.',
    schema: z.union([
      z.looseObject({ schema, type: z.literal('plan'), plan: z.looseObject(planFields) }),
      z.looseObject({
        schema,
        type: z.literal('result'),
        tookMs: z.number(),
        outcomes: z.record(z.string(), z.enum(['done', 'failed', 'notReady', 'canceled', 'skipped'])),
        vms: z.array(
          z.looseObject({ address: z.string(), name: z.string(), vmid: z.int().nullable(), node: z.string() }),
        ),
        restartPending: z.array(z.string()),
      }),
      z.looseObject({ schema, type: z.string() }),
    ]),
  },
  {
    name: 'drift',
    command: 'drift --json',
    about: 'What was changed outside Proxwright.',
    schema: z.looseObject({
      schema,
      stack: z.string(),
      drifts: z.array(
        z.looseObject({
          address: z.string(),
          name: z.string(),
          vmid: z.int().optional(),
          node: z.string(),
          gone: z.boolean(),
          fields: z.array(z.looseObject({ path: z.string(), applied: z.unknown(), actual: z.unknown() })),
        }),
      ),
      notCompared: z.int().describe('How many VMs could not be compared.'),
    }),
  },
  {
    name: 'runs',
    command: 'runs --json',
    about: 'A list with one document for each run, the oldest first.',
    schema: z.array(z.looseObject({ ...runFields, steps: z.int(), vms: z.int() })),
  },
  {
    name: 'run',
    command: 'runs show ID --json',
    about: 'One run with its steps.',
    schema: z.looseObject({
      ...runFields,
      steps: z.array(step),
      vms: z.array(z.looseObject({ address: z.string(), failed: z.boolean(), steps: z.array(step) })),
    }),
  },
  {
    name: 'validate',
    command: 'validate --json',
    about: 'Whether the file is valid, and every problem in it.',
    schema: z.looseObject({
      schema,
      file: z.string(),
      variableFiles: z.array(z.string()),
      valid: z.boolean(),
      vms: z.array(z.looseObject({ address: z.string(), name: z.string() })),
      diagnostics: z.array(diagnostic),
    }),
  },
  {
    name: 'doctor',
    command: 'doctor --json',
    about: 'What was checked.',
    schema: z.looseObject({ schema, stack: z.string(), ok: z.boolean(), findings: z.array(finding) }),
  },
];

/** One file for each document. */
export function jsonSchemaFiles(): Record<string, string> {
  return Object.fromEntries(
    JSON_DOCUMENTS.map(({ name, command, about, schema: document }) => {
      const written = { title: `proxwright ${command}`, description: about, ...z.toJSONSchema(document) };
      return [`docs/reference/json/${name}.schema.json`, `${JSON.stringify(written, undefined, 2)}\n`];
    }),
  );
}

/** The list of documents. */
export function jsonReference(): string {
  const rows = JSON_DOCUMENTS.map(
    ({ name, command, about }) => `| \`${command}\` | ${about} | [${name}.schema.json](json/${name}.schema.json) |`,
  );
  return ['| Command | Document | Schema |', '| --- | --- | --- |', ...rows].join('\n');
}
