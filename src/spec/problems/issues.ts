/** Turns the issues of a schema into problems with the names and positions of the stack file. */
import type { z } from 'zod';
import type { Where } from '../../base/diagnostics.ts';
import { advice, type Hint, setting } from '../../base/hint.ts';
import { closest, didYouMean, guessWords } from '../../base/text/closest.ts';
import { parseByteSize, printByteSize } from '../../base/values/units.ts';
import { child, descendant, describeKind, type Located, type Path, quote, toPlain, walk } from '../located.ts';
import type { Findings } from './findings.ts';
import { ownFieldFor } from './foreign-words.ts';
import { homeOf, isSecretAt, keysAt } from './schema-walk.ts';

type Issue = z.core.$ZodIssue;

export interface ShapeContext {
  /** Completes `"x" is not a field of …`: `a VM`, `"rollout"`. */
  readonly subject: string;
  /** Where the whole is named; used for missing fields. */
  readonly keyAt: Where;
  readonly findings: Findings;
  readonly address?: string;
  /** Put before paths in messages: `rollout`. */
  readonly section?: string;
  /** More keys that are known at a path, in addition to those of the schema, for suggestions. */
  readonly alsoKnown?: (path: Path) => readonly string[];
  /** Where else you can write a missing field; follows `Write node: … here`. */
  readonly elsewhere?: string;
}

/** Checks a tree against a schema and reports every problem. Returns the parsed value if there is none. */
export function checkShape<Schema extends z.ZodType>(
  schema: Schema,
  node: Located,
  context: ShapeContext,
): z.output<Schema> | undefined {
  const { value, issues } = parseTolerantly(schema, node);
  for (const issue of issues) report(issue, schema, node, context);
  return value;
}

/** Leaves out issues about unknown parts: their cause has been reported already. */
export function parseTolerantly<Schema extends z.ZodType>(
  schema: Schema,
  node: Located,
): { readonly value?: z.output<Schema>; readonly issues: readonly Issue[] } {
  if (node.kind === 'unknown') return { issues: [] };
  const result = schema.safeParse(toPlain(node));
  if (result.success) return { value: result.data, issues: [] };
  return { issues: result.error.issues.filter((issue) => !concernsUnknown(issue, node)) };
}

function concernsUnknown(issue: Issue, node: Located): boolean {
  const path = pathOf(issue);
  if (path.some((_, index) => descendant(node, path.slice(0, index + 1))?.kind === 'unknown')) return true;
  const target = descendant(node, path);
  let holdsUnknown = false;
  if (issue.code === 'invalid_union' && target) {
    walk(target, (_, inner) => {
      holdsUnknown ||= inner.kind === 'unknown';
    });
  }
  return holdsUnknown;
}

export function pathOf(issue: Issue): Path {
  return issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
}

export function report(issue: Issue, schema: z.ZodType, root: Located, context: ShapeContext): void {
  const path = pathOf(issue);
  const { findings, address } = context;
  const at = (where: Where): Where => ({ ...where, ...(address !== undefined && { address }) });
  const node = descendant(root, path);
  const named = (parts: Path) =>
    quote([...(context.section === undefined ? [] : [context.section]), ...parts].join('.'));
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const keyAt = node?.kind === 'map' ? node.entries.get(key)?.keyAt : undefined;
      findings.add({
        code: 'UNKNOWN_FIELD',
        where: at(keyAt ?? node?.at ?? context.keyAt),
        detail: `${quote(key)} is not a field of ${path.length === 0 ? context.subject : named(path)}.`,
        hint: unknownFieldHint(key, schema, path, context.alsoKnown?.(path) ?? []),
      });
    }
  } else if (issue.code === 'invalid_key') {
    const parent = descendant(root, path.slice(0, -1));
    const key = String(path.at(-1));
    findings.add({
      code: 'UNKNOWN_FIELD',
      where: at((parent?.kind === 'map' ? parent.entries.get(key)?.keyAt : undefined) ?? context.keyAt),
      detail: `${quote(key)} is not allowed under ${named(path.slice(0, -1))}: ${issue.issues.map(({ message }) => message).join('; ')}.`,
    });
  } else if (!node) {
    findings.add({
      code: 'BAD_VALUE',
      where: at(keyOf(root, path.slice(0, -1), context)),
      detail: `${named(path)} is missing.`,
      hint: advice`Write ${setting(String(path.at(-1)), '…')} here${path.length === 1 ? (context.elsewhere ?? '') : ''}.`,
    });
  } else {
    const shown = isSecretAt(schema, path) || node.sensitive ? undefined : describeKind(node);
    const label = path.length === 0 ? capitalised(context.subject) : named(path);
    const form =
      issue.code === 'invalid_type' && shown !== undefined ? rightForm(issue.expected, schema, path, node) : undefined;
    findings.add({
      code: 'BAD_VALUE',
      where: at(node.at),
      ...explain(issue, label, node, shown),
      ...(form && { hint: form }),
    });
  }
}

/** Where the value at a path is named: its key, or the key of its parent. */
function keyOf(root: Located, path: Path, context: ShapeContext): Where {
  if (path.length === 0) return context.keyAt;
  const parent = descendant(root, path.slice(0, -1));
  if (parent?.kind === 'map') return parent.entries.get(String(path.at(-1)))?.keyAt ?? parent.at;
  return child(parent, path.at(-1) ?? 0)?.at ?? context.keyAt;
}

function unknownFieldHint(
  key: string,
  schema: z.ZodType,
  path: Path,
  alsoKnown: readonly string[],
): Hint | string | undefined {
  const home = path.length === 0 ? homeOf(key, schema) : undefined;
  if (home !== undefined) return advice`It belongs under "${home}": ${setting(home, { [key]: '…' })}.`;
  const own = ownFieldFor(key, path);
  if (own !== undefined && keysAt(schema, []).includes(own.split('.')[0] ?? '')) {
    return own === 'extra'
      ? advice`It has no field; set it under ${setting('extra')} with the name that Proxmox has for it.`
      : advice`${capitalised(quote(key))} of other tools is called ${setting(own)} here.`;
  }
  return didYouMean(key, [...keysAt(schema, path), ...alsoKnown]);
}

function explain(
  issue: Issue,
  label: string,
  node: Located,
  shown: string | undefined,
): { detail: string; hint?: string | undefined } {
  const said = sentence(issue);
  if (said !== undefined) {
    // Do not repeat a value that the sentence already quotes.
    const isQuoted = shown !== undefined && said.includes(shown);
    return {
      detail: `${label}${shown === undefined || isQuoted || node.kind !== 'scalar' ? '' : ` is ${shown}`}: ${said}.`,
    };
  }
  const hint =
    issue.code === 'invalid_value' && node.kind === 'scalar' && typeof node.value === 'string' && shown !== undefined
      ? guessOnly(node.value, issue.values.map(String))
      : undefined;
  return {
    detail: `${label} must be ${expectation(issue, node)}${shown === undefined ? '' : `; it is ${shown}`}.`,
    hint,
  };
}

/** How a map or a list is written at this path; nothing if that would be too long. */
function rightForm(expected: string, schema: z.ZodType, path: Path, node: Located): Hint | string | undefined {
  const name = String(path.at(-1) ?? '');
  if (expected === 'array' && node.kind === 'scalar' && node.value !== null) {
    return advice`Write ${setting(name, [node.value])}.`;
  }
  if (expected === 'object') {
    const keys = keysAt(schema, path);
    return keys.length === 0
      ? undefined
      : `Its fields are ${keys.slice(0, 6).join(', ')}${keys.length > 6 ? ' …' : ''}.`;
  }
  const slot = SLOTS[name];
  return expected === 'record' && slot !== undefined
    ? `Its fields begin with a slot: ${name}: { ${slot}: … }.`
    : undefined;
}

const SLOTS: Readonly<Record<string, string>> = {
  disks: 'scsi0',
  nics: 'net0',
  pci: 'hostpci0',
  serial: 'serial0',
  usb: 'usb0',
};

function guessOnly(word: string, known: readonly string[]): string | undefined {
  const guess = closest(word, known);
  return guess === undefined ? undefined : guessWords(guess);
}

/** The schema's own message, if it has one. */
function sentence(issue: Issue): string | undefined {
  if (issue.code === 'custom') return issue.message;
  if (issue.code !== 'invalid_format' && issue.code !== 'invalid_union') return undefined;
  return issue.message.startsWith('Invalid') ? undefined : issue.message;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

/** Completes "must be …". */
function expectation(issue: Issue, node: Located): string {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${amount(issue.minimum, issue.origin, node)}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${amount(issue.maximum, issue.origin, node)}`;
    case 'not_multiple_of':
      return `a multiple of ${amount(issue.divisor, 'number', node)}`;
    case 'invalid_format':
      if (issue.format === 'url') return 'an address that begins with https:// or http://';
      return `text of the form ${'pattern' in issue ? issue.pattern : issue.format}`;
    case 'invalid_union':
      return alternatives(issue.errors, node);
    default:
      return `something else (${issue.message})`;
  }
}

function alternatives(branches: readonly (readonly Issue[])[], node: Located): string {
  const texts = branches.flatMap((issues) =>
    issues.slice(0, 1).map((issue) => sentence(issue) ?? expectation(issue, node)),
  );
  return [...new Set(texts)].join(' or ');
}

function amount(limit: number | bigint, origin: string, node: Located): string {
  if (origin === 'string') return `${limit} characters long`;
  if (origin === 'array') return `${limit} elements`;
  // The schema of a size counts bytes; its author thinks in units.
  const isSize = node.kind === 'scalar' && typeof node.value === 'string' && parseByteSize(node.value) !== undefined;
  return isSize ? printByteSize(Number(limit)) : String(limit);
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
