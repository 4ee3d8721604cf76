/**
 * `${…}`: references inside values. A value that is nothing but a reference keeps the type of what it refers to; inside
 * longer text the value is written out. `$${` stands for `${`. What a reference yields is never evaluated again.
 */

import type { Where } from '../base/diagnostics.ts';
import { advice, type Hint, setting } from '../base/hint.ts';
import type { Findings } from './findings.ts';
import { type Entry, type Located, type LocatedScalar, relocated, scalar, unknownAt } from './located.ts';
import { didYouMean } from './suggest.ts';

export interface Variable {
  readonly value: Located;
  /** Whether the value stands in a file, so that complaints about its parts can point there. */
  readonly hasPosition: boolean;
}

/** What can be referred to at some place of the file. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** Undefined while the name itself is being read. */
  readonly stack?: string | undefined;
  /** Inside a group. */
  readonly number?: number;
  /** Inside a group made by `each`. */
  readonly each?: Located;
}

const PIECE = /\$\$\{|\$\{([^}]*)(\})?/g;

export function hasReference(node: Located): boolean {
  return node.kind === 'scalar' && typeof node.value === 'string' && node.value.includes('${');
}

/** The same tree with every reference replaced; parts without any are returned as they are. */
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
  const whole = /^\$\{([^}]*)\}$/.exec(text);
  if (whole) return lookUp((whole[1] ?? '').trim(), node.at, scope, findings);
  let sensitive = false;
  let known = true;
  const result = text.replace(PIECE, (piece, name: string | undefined, end: string | undefined) => {
    if (piece === '$${') return '${';
    if (end === undefined) {
      known = false;
      findings.add({
        code: 'BAD_VALUE',
        where: node.at,
        detail: `A reference begins with \${ and never ends with }.`,
        hint: `Close it, or write $\${ where \${ is meant as text.`,
      });
      return piece;
    }
    const value = lookUp((name ?? '').trim(), node.at, scope, findings);
    sensitive ||= value.sensitive === true;
    known &&= value.kind !== 'unknown';
    if (value.kind === 'scalar' && value.value !== null) return String(value.value);
    if (value.kind !== 'unknown') {
      known = false;
      findings.add({
        code: 'BAD_VALUE',
        where: node.at,
        detail: `\${${name}} is ${value.kind === 'scalar' ? 'null' : `a ${value.kind}`}, which cannot be part of a text.`,
        hint: value.kind === 'scalar' ? undefined : 'A list or map can only be referred to as the whole value.',
      });
    }
    return piece;
  });
  if (!known) return unknownAt(node.at);
  return sensitive ? { ...scalar(result, node.at), sensitive } : scalar(result, node.at);
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

/** A single value belongs to the place that uses it; the parts of a list or map stay where they can be mended. */
function used(value: Located, at: Where): Located {
  return value.kind === 'scalar' || value.kind === 'unknown' ? { ...value, at } : value;
}

function explain(name: string, scope: Scope): { detail: string; hint?: Hint | string | undefined } {
  const variables = [...scope.variables.keys()].map((variable) => `var.${variable}`);
  if (name === 'number' || name === 'each') {
    return scope.number !== undefined
      ? {
          detail: `This group has no "each", so \${each} means nothing here.`,
          hint: advice`Use \${number}, or give the group ${setting('each', ['…'])}.`,
        }
      : { detail: `\${${name}} has a value only inside a group under "vms" or "defaults".` };
  }
  if (name === 'stack') return { detail: 'The name of the stack cannot refer to itself.' };
  if (scope.variables.has(name)) {
    return {
      detail: `\${${name}} refers to nothing; there is a variable of that name.`,
      hint: `Write \${var.${name}}.`,
    };
  }
  const places = [
    ...variables,
    'stack',
    ...(scope.number === undefined ? [] : ['number']),
    ...(scope.each ? ['each'] : []),
  ];
  return {
    detail: name.startsWith('var.')
      ? `There is no variable "${name.slice('var.'.length)}" under "variables".`
      : `\${${name}} refers to nothing.`,
    hint:
      didYouMean(name, places) ??
      `A reference is \${var.NAME}, \${stack}, \${number} or \${each}; $\${ stands for \${ as text.`,
  };
}
