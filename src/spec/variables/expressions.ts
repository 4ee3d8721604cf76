/**
 * `${…}`: references inside values. A value that is a single reference keeps the type of its target; inside longer text
 * the target is printed. `$${` is a literal `${`. The result of a reference is never evaluated again.
 */

import type { Where } from '../../base/diagnostics.ts';
import { advice, type Hint, setting } from '../../base/hint.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { type Entry, type Located, type LocatedScalar, relocated, scalar, unknownAt } from '../located.ts';
import type { Findings } from '../problems/findings.ts';

export interface Variable {
  readonly value: Located;
  /** Whether the value comes from a file, so that problems with its parts can point there. */
  readonly hasPosition: boolean;
}

/** What references can use at a certain place in the file. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** Undefined while the name itself is being read. */
  readonly stack?: string | undefined;
  /** Inside a group. */
  readonly number?: number;
  /** Inside a group made by `each`. */
  readonly each?: Located;
  /** Names that get their value when the text is used. They stay as they are, and so does `$${`. */
  readonly later?: readonly string[];
}

const PIECE = /\$\$\{|\$\{([^}]*)(\})?/g;

export function hasReference(node: Located): boolean {
  return node.kind === 'scalar' && typeof node.value === 'string' && node.value.includes('${');
}

/** The same tree with every reference replaced; parts without references are returned unchanged. */
export function evaluate(node: Located, scope: Scope, findings: Findings): Located {
  switch (node.kind) {
    case 'unknown':
      return node;
    case 'scalar':
      return hasReference(node) ? evaluateText(node, String(node.value), scope, findings) : node;
    case 'list': {
      const items = node.items.map((item) => evaluate(item, scope, findings));
      return items.every((item, index) => item === node.items[index]) ? node : { ...node, items };
    }
    case 'map': {
      let changed = false;
      const entries = new Map<string, Entry>();
      for (const [key, entry] of node.entries) {
        const value = evaluate(entry.value, scope, findings);
        changed ||= value !== entry.value;
        entries.set(key, value === entry.value ? entry : { ...entry, value });
      }
      return changed ? { ...node, entries } : node;
    }
  }
}

function evaluateText(node: LocatedScalar, text: string, scope: Scope, findings: Findings): Located {
  const isLater = (name = '') => scope.later?.includes(name.trim()) === true;
  const whole = /^\$\{([^}]*)\}$/.exec(text);
  if (whole && !isLater(whole[1])) {
    const value = lookUp((whole[1] ?? '').trim(), node.at, scope, findings);
    return scope.later ? escaped(value) : value;
  }
  let sensitive = false;
  let known = true;
  const result = text.replace(PIECE, (piece, name: string | undefined, end: string | undefined) => {
    if (piece === '$${') return scope.later ? piece : '${';
    if (isLater(name)) return piece;
    if (end === undefined) {
      known = false;
      findings.add({
        code: 'BAD_VALUE',
        where: node.at,
        detail: `A reference begins with \${ but has no closing }.`,
        hint: `Close it, or write $\${ for a literal \${.`,
      });
      return piece;
    }
    const value = lookUp((name ?? '').trim(), node.at, scope, findings);
    sensitive ||= value.sensitive === true;
    known &&= value.kind !== 'unknown';
    if (value.kind === 'scalar' && value.value !== null) {
      return scope.later ? escapedText(String(value.value)) : String(value.value);
    }
    if (value.kind !== 'unknown') {
      known = false;
      findings.add({
        code: 'BAD_VALUE',
        where: node.at,
        detail: `\${${name}} is ${value.kind === 'scalar' ? 'null' : `a ${value.kind}`}, which cannot be part of text.`,
        hint: value.kind === 'scalar' ? undefined : 'Use a reference to a list or map as the whole value.',
      });
    }
    return piece;
  });
  if (!known) return unknownAt(node.at);
  return sensitive ? { ...scalar(result, node.at), sensitive } : scalar(result, node.at);
}

const escapedText = (text: string) => text.replaceAll('${', () => '$${');

/** The result of a reference is not evaluated again, even if the rest of the text will be. */
function escaped(node: Located): Located {
  switch (node.kind) {
    case 'unknown':
      return node;
    case 'scalar':
      return typeof node.value === 'string' ? { ...node, value: escapedText(node.value) } : node;
    case 'list':
      return { ...node, items: node.items.map(escaped) };
    case 'map':
      return {
        ...node,
        entries: new Map([...node.entries].map(([key, entry]) => [key, { ...entry, value: escaped(entry.value) }])),
      };
  }
}

function lookUp(name: string, at: Where, scope: Scope, findings: Findings): Located {
  if (name === 'stack' && scope.stack !== undefined) return scalar(scope.stack, at);
  if (name === 'number' && scope.number !== undefined) return scalar(scope.number, at);
  if (name === 'each' && scope.each) return used(scope.each, at);
  const variable = name.startsWith('var.') ? scope.variables.get(name.slice('var.'.length)) : undefined;
  if (variable) return variable.hasPosition ? used(variable.value, at) : relocated(variable.value, at);
  findings.add({ code: 'MISSING_REFERENCE', where: at, ...explain(name, scope) });
  return unknownAt(at);
}

/** A scalar gets the position where it is used; the parts of a list or map keep the position where you can fix them. */
function used(value: Located, at: Where): Located {
  return value.kind === 'scalar' || value.kind === 'unknown' ? { ...value, at } : value;
}

function explain(name: string, scope: Scope): { detail: string; hint?: Hint | string | undefined } {
  const variables = [...scope.variables.keys()].map((variable) => `var.${variable}`);
  if (name === 'number' || name === 'each') {
    return scope.number !== undefined
      ? {
          detail: `This group has no "each", so \${each} has no value here.`,
          hint: advice`Use \${number}, or give the group ${setting('each', ['…'])}.`,
        }
      : { detail: `\${${name}} has a value only inside a group under "vms" or "defaults".` };
  }
  if (name === 'stack') return { detail: 'The name of the stack cannot refer to itself.' };
  if (scope.variables.has(name)) {
    return {
      detail: `\${${name}} refers to nothing, but there is a variable of that name.`,
      hint: `Write \${var.${name}}.`,
    };
  }
  const places = [
    ...variables,
    'stack',
    ...(scope.number === undefined ? [] : ['number']),
    ...(scope.each ? ['each'] : []),
    ...(scope.later ?? []),
  ];
  return {
    detail: name.startsWith('var.')
      ? `There is no variable "${name.slice('var.'.length)}" under "variables".`
      : `\${${name}} refers to nothing.`,
    hint:
      didYouMean(name, places) ??
      `A reference is \${var.NAME}, \${stack}, \${number} or \${each}; write $\${ for a literal \${.`,
  };
}
