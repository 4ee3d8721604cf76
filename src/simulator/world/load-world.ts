/** From the text of a world file to a `World`; every problem names its line. */
import type { Instant } from '../../base/clock.ts';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import { closest } from '../../base/text/closest.ts';
import { type Position, parseYaml, type YamlSource } from '../yaml-source.ts';
import { buildWorld } from './build-world.ts';
import type { World } from './world.ts';
import { type CompleteWorldFile, type WorldFile, worldFileSchema } from './world-file.ts';

export interface LoadOptions {
  /** When the simulation begins. */
  readonly now: Instant;
}

interface Problem {
  readonly position: Position | undefined;
  readonly isUnknownField: boolean;
  readonly text: string;
  readonly hint?: string | undefined;
}

const FORMAT_HINT = 'The format of world files is described in docs/simulator.md.';

export function loadWorld(text: string, fileName: string, options: LoadOptions): World {
  const source = parseYaml(text, fileName);
  const parsed = worldFileSchema.safeParse(source.value ?? {});
  const problems = parsed.success
    ? duplicateVolumes(parsed.data, source)
    : parsed.error.issues.flatMap((issue) => problemsOf(issue, source));
  const [first] = problems;
  if (first) throw complaint([first, ...problems.slice(1)], fileName);
  try {
    // The schema has accepted it just now.
    return buildWorld(source.value as WorldFile, { now: options.now, file: fileName });
  } catch (error) {
    if (!isFamily(error, 'spec')) throw error;
    throw complaint(
      [{ position: mentioned(error, source), isUnknownField: false, text: error.diagnostic.detail }],
      fileName,
    );
  }
}

type Issue = Parameters<typeof problemsOf>[0];

function problemsOf(
  issue: {
    readonly code: string;
    readonly path: readonly PropertyKey[];
    readonly message: string;
    readonly keys?: readonly string[];
    readonly expected?: string;
    readonly issues?: readonly { readonly message: string }[];
  },
  source: YamlSource,
): Problem[] {
  const where = issue.path.map(String).join('.') || 'the file';
  if (issue.code !== 'unrecognized_keys') {
    const text = `${where}${wordsFor(issue).replace(/\.?$/, '.')}`;
    return [{ position: source.position(issue.path), isUnknownField: false, text }];
  }
  const known = fieldsAt(issue);
  return (issue.keys ?? []).map((key) => {
    const guess = closest(key, known);
    return {
      position: source.position([...issue.path, key], { key: true }),
      isUnknownField: true,
      text: `"${key}" is not a field of ${where}.`,
      hint: guess === undefined ? undefined : `Did you mean "${guess}"?`,
    };
  });
}

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  object: 'a map',
  record: 'a map',
  string: 'text',
};

/** Follows the path of the problem. */
function wordsFor({ code, message, expected = '', issues = [] }: Issue): string {
  const kind = KINDS[expected];
  if (code === 'invalid_type' && kind !== undefined) {
    return / received undefined$/.test(message) ? ' is missing' : ` must be ${kind}`;
  }
  const [inner] = issues;
  return code === 'invalid_key' && inner ? `: this key is not allowed: ${inner.message}` : `: ${message}`;
}

/** The valid fields: those of a complete file at the same path. */
function fieldsAt(issue: Issue): string[] {
  let schema: unknown = worldFileSchema;
  for (const part of issue.path) schema = schemaBelow(schema, String(part));
  return Object.keys(shapeOf(schema) ?? {});
}

/** The parts of Zod's schema description that the walk needs. */
interface Described {
  readonly def?: { readonly innerType?: unknown; readonly valueType?: unknown; readonly element?: unknown };
  readonly shape?: Readonly<Record<string, unknown>>;
}

function unwrapped(schema: unknown): Described {
  let current = (schema ?? {}) as Described; // only read, field by field
  while (current.def?.innerType !== undefined) current = current.def.innerType as Described;
  return current;
}

function shapeOf(schema: unknown): Described['shape'] {
  return unwrapped(schema).shape;
}

function schemaBelow(schema: unknown, part: string): unknown {
  const inner = unwrapped(schema);
  return inner.shape ? inner.shape[part] : (inner.def?.valueType ?? inner.def?.element);
}

/** YAML refuses a key given twice; a volume listed twice only shows here. */
function duplicateVolumes(file: CompleteWorldFile, source: YamlSource): Problem[] {
  return Object.entries(file.storages).flatMap(([id, storage]) => {
    const seen = new Set<string>();
    return storage.volumes.flatMap((volume, index) => {
      const key = `${volume.node ?? ''}:${volume.name}`;
      if (!seen.has(key)) {
        seen.add(key);
        return [];
      }
      const position = source.position(['storages', id, 'volumes', index]);
      return [{ position, isUnknownField: false, text: `storages.${id}.volumes: "${volume.name}" is listed twice.` }];
    });
  });
}

/** Semantic problems begin with a path such as `vms.100.config.scsi0:`; keys themselves may contain dots. */
function mentioned(error: ProxwrightError, source: YamlSource): Position | undefined {
  const path: string[] = [];
  let rest = error.diagnostic.detail;
  let value: unknown = source.value;
  while (typeof value === 'object' && value !== null) {
    const keys: string[] = Object.keys(value).sort((a, b) => b.length - a.length);
    const key = keys.find((candidate) => rest.startsWith(candidate) && /^[.: ]/.test(rest.slice(candidate.length)));
    if (key === undefined) break;
    path.push(key);
    rest = rest.slice(key.length + 1);
    value = (value as Readonly<Record<string, unknown>>)[key]; // an object, as just tested
  }
  return path.length === 0 ? undefined : source.position(path);
}

function complaint(problems: readonly [Problem, ...Problem[]], file: string): ProxwrightError {
  const [first, ...others] = problems;
  const shown = others.map(({ position, text }) => (position ? `Line ${position.line}: ${text}` : text));
  return new ProxwrightError({
    code: first.isUnknownField ? 'UNKNOWN_FIELD' : 'BAD_VALUE',
    where: { file, ...first.position },
    detail: [first.text, ...shown].join('\n'),
    hint: first.hint ?? FORMAT_HINT,
  });
}
