/**
 * Resolves the variables of a stack to one value each: from --var, then --var-file, then the environment, then the default.
 * A variable without a usable value is reported once and is `unknown` from then on.
 */
import type { Where } from '../../base/diagnostics.ts';
import { concealed, describeKind, type Entry, type Located, quote, unknownAt, walk } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { checkShape } from '../problems/issues.ts';
import { type VariableDeclaration, variableSchema } from '../stack-schema.ts';
import { evaluate, type Variable } from './expressions.ts';
import { SCALAR_TYPES } from './types.ts';
import { ENVIRONMENT_PREFIX, type Given, readGiven, type VariableInputs } from './values.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

interface Declared {
  readonly declaration: VariableDeclaration;
  readonly keyAt: Where;
  readonly default: Located | undefined;
}

export function readVariables(
  section: Entry | undefined,
  start: Where,
  inputs: VariableInputs,
  findings: Findings,
): ReadonlyMap<string, Variable> {
  const declared = readDeclarations(section, findings);
  const written = section?.value.kind === 'map' ? section.value.entries : new Map<string, Entry>();
  const at = section?.keyAt ?? start;
  const given = readGiven(
    inputs,
    {
      names: [...written.keys()],
      at,
      type: (name) => declared.get(name)?.declaration.type,
      isSensitive: (name) => declared.get(name)?.declaration.sensitive === true,
      positionOf: (name) => written.get(name)?.keyAt ?? at,
    },
    findings,
  );
  // Names with a faulty declaration count as known, so that a reference to them causes no second problem.
  return new Map(
    [...written].map(([name, { keyAt }]) => {
      const variable = declared.get(name);
      return [name, variable ? settle(name, variable, given.get(name), findings) : unknownVariable(keyAt)];
    }),
  );
}

function readDeclarations(section: Entry | undefined, findings: Findings): ReadonlyMap<string, Declared> {
  const declared = new Map<string, Declared>();
  if (!section || section.value.kind === 'unknown') return declared;
  if (section.value.kind !== 'map') {
    const where = section.value.at;
    findings.add({ code: 'BAD_VALUE', where, detail: '"variables" must be a map from names to declarations.' });
    return declared;
  }
  for (const [name, { keyAt, value }] of section.value.entries) {
    if (!NAME.test(name)) {
      const detail = `${quote(name)} cannot name a variable. Use letters, digits and _, beginning with a letter.`;
      findings.add({ code: 'BAD_VALUE', where: keyAt, detail });
      continue;
    }
    const declaration = checkShape(variableSchema, value, {
      subject: `the variable ${quote(name)}`,
      section: `variables.${name}`,
      keyAt,
      findings,
    });
    if (!declaration) continue;
    const complaints = contradictions(name, declaration);
    for (const detail of complaints) findings.add({ code: 'BAD_VALUE', where: keyAt, detail });
    const fallback = value.kind === 'map' ? value.entries.get('default')?.value : undefined;
    if (declaration.sensitive && fallback) conceal(fallback, findings);
    if (complaints.length > 0) continue;
    declared.set(name, { declaration, keyAt, default: fallback && literal(fallback, findings) });
  }
  return declared;
}

/** Parts of a declaration that contradict each other. */
function contradictions(name: string, { type, of, pattern, min, max }: VariableDeclaration): string[] {
  const found: string[] = [];
  if (of !== undefined && type !== 'list' && type !== 'map') {
    found.push(`"of" says what a list or map holds; "${name}" is of type ${type}.`);
  }
  if (pattern !== undefined && type !== 'string') {
    found.push(`"pattern" is for text; "${name}" is of type ${type}.`);
  }
  if (pattern !== undefined && !isPattern(pattern)) found.push(`"pattern" of "${name}" is not a regular expression.`);
  for (const [word, bound] of [['min', min] as const, ['max', max] as const]) {
    if (bound !== undefined && magnitudeOf(type, bound) === undefined) {
      found.push(`"${word}" of "${name}" is ${quote(bound)}, which cannot be compared with values of type ${type}.`);
    }
  }
  return found;
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** Defaults cannot contain references, so that the order of declarations never matters. */
function literal(fallback: Located, findings: Findings): Located {
  let refers = false;
  walk(fallback, (_, node) => {
    if (node.kind !== 'scalar' || typeof node.value !== 'string' || !/(?<!\$)\$\{/.test(node.value)) return;
    refers = true;
    findings.add({
      code: 'BAD_VALUE',
      where: node.at,
      detail: 'The default of a variable cannot refer to other values.',
      hint: `Write the value itself; write $\${ for a literal \${.`,
    });
  });
  return refers ? unknownAt(fallback.at) : evaluate(fallback, { variables: new Map() }, findings);
}

function settle(name: string, variable: Declared, given: Given | undefined, findings: Findings): Variable {
  const { declaration, keyAt } = variable;
  const chosen = given ?? (variable.default && { value: variable.default, hasPosition: true, source: 'its default' });
  if (!chosen) {
    findings.add({
      code: 'MISSING_REFERENCE',
      where: keyAt,
      detail: `The variable "${name}" has no default, and no value was given.`,
      hint: `Give one: --var ${name}=…, a line in variables.yaml, or ${ENVIRONMENT_PREFIX}${name} in the environment.`,
    });
    return unknownVariable(keyAt);
  }
  // The reason has been reported already.
  if (chosen.value.kind === 'unknown') return unknownVariable(keyAt);
  if (declaration.sensitive) conceal(chosen.value, findings);
  if (!fitsDeclaration(name, chosen, declaration, findings)) return unknownVariable(keyAt);
  return {
    value: declaration.sensitive ? concealed(chosen.value) : chosen.value,
    hasPosition: chosen.hasPosition,
  };
}

function unknownVariable(at: Where): Variable {
  return { value: unknownAt(at), hasPosition: true };
}

function conceal(value: Located, findings: Findings): void {
  walk(value, (_, node) => {
    // true and false reveal nothing, and redacting them would make messages unreadable.
    if (node.kind !== 'scalar' || node.value === null || typeof node.value === 'boolean') return;
    if (node.value !== '') findings.conceal(String(node.value));
  });
}

/** Checks a value against the declaration of its variable. */
export function fitsDeclaration(
  name: string,
  given: Given,
  declaration: VariableDeclaration,
  findings: Findings,
): boolean {
  const { value, source } = given;
  const elements = elementsOf(value, declaration.type);
  const misfits = typeMisfits(`The variable "${name}"`, value, elements, declaration);
  if (misfits.length === 0) {
    misfits.push(...boundMisfits(`The variable "${name}"`, value, elements?.length, declaration));
  }
  for (const { node, detail, hint } of misfits) {
    findings.add({ code: 'BAD_VALUE', where: node.at, detail: `${detail} (from ${source}).`, hint });
  }
  return misfits.length === 0;
}

interface Misfit {
  readonly node: Located;
  readonly detail: string;
  readonly hint?: string | undefined;
}

function typeMisfits(
  label: string,
  value: Located,
  elements: readonly (readonly [string, Located])[] | undefined,
  { type, of, sensitive }: VariableDeclaration,
): Misfit[] {
  const found = (node: Located) => (sensitive ? '' : `; it is ${describeKind(node)}`);
  const one = (node: Located, expected: string, what: string): Misfit[] => {
    const known = SCALAR_TYPES[expected];
    if (node.kind === 'unknown') return [];
    if (!known)
      return node.kind === 'map' ? [] : [{ node, detail: `${what} must be a map of VM fields${found(node)}` }];
    if (node.kind === 'scalar' && known.fits(node.value)) return [];
    const isBareNumber = expected === 'string' && node.kind === 'scalar' && typeof node.value === 'number';
    const hint = isBareNumber ? 'Put the value into quotes.' : undefined;
    return [{ node, detail: `${what} must be ${known.expects}${found(node)}`, hint }];
  };
  if (type !== 'list' && type !== 'map') return one(value, type, label);
  if (!elements) return [{ node: value, detail: `${label} must be a ${type}${found(value)}` }];
  return of === undefined ? [] : elements.flatMap(([key, node]) => one(node, of, `${label}, element ${key},`));
}

function boundMisfits(
  label: string,
  node: Located,
  count: number | undefined,
  { type, min, max, pattern, sensitive }: VariableDeclaration,
): Misfit[] {
  const value = node.kind === 'scalar' ? node.value : null;
  const found = sensitive ? '' : count === undefined ? `; it is ${quote(value)}` : `; it has ${count}`;
  const unit = count === undefined ? '' : ' elements';
  const measured = count ?? magnitudeOf(type, value);
  const [lowest, highest] = [magnitudeOf(type, min ?? null), magnitudeOf(type, max ?? null)];
  const misfits: Misfit[] = [];
  if (measured !== undefined && lowest !== undefined && measured < lowest) {
    misfits.push({ node, detail: `${label} must be at least ${min}${unit}${found}` });
  }
  if (measured !== undefined && highest !== undefined && measured > highest) {
    misfits.push({ node, detail: `${label} must be at most ${max}${unit}${found}` });
  }
  if (pattern !== undefined && typeof value === 'string' && !new RegExp(pattern, 'u').test(value)) {
    misfits.push({ node, detail: `${label} must match ${pattern}${found}` });
  }
  return misfits;
}

/** `min` and `max` limit a value or a number of elements, depending on the type. Undefined if they do not apply. */
export function magnitudeOf(type: string, bound: string | number | boolean | null): number | undefined {
  if (type === 'list' || type === 'map') return typeof bound === 'number' ? bound : undefined;
  return SCALAR_TYPES[type]?.magnitude?.(bound);
}

function elementsOf(value: Located, type: string): [string, Located][] | undefined {
  if (type === 'list' && value.kind === 'list') return value.items.map((item, index) => [String(index + 1), item]);
  if (type === 'map' && value.kind === 'map')
    return [...value.entries].map(([key, entry]) => [quote(key), entry.value]);
  return undefined;
}
