/** Collects the values of variables from --var, --var-file and the environment, and converts text to the declared type. */

import type { Where } from '../../base/diagnostics.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { parseTree } from '../load.ts';
import { type Located, quote, relocated, scalar, unknownAt } from '../located.ts';
import { Findings, type Problem } from '../problems/findings.ts';
import { SCALAR_TYPES } from './types.ts';

/** The raw input; nothing here reads files or the environment. */
export interface VariableInputs {
  /** `name=value` pairs of --var; the last one for a name wins. */
  readonly settings?: readonly string[];
  /** Files with values; a later one wins. */
  readonly files?: readonly { readonly name: string; readonly text: string }[];
  /** Only names that begin with PROXWRIGHT_VAR_ are used. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export const ENVIRONMENT_PREFIX = 'PROXWRIGHT_VAR_';

export interface Given {
  readonly value: Located;
  /** Whether it comes from a file, so that problems can point there. */
  readonly hasPosition: boolean;
  /** For messages: `--var count`. */
  readonly source: string;
}

/** The facts about declarations that are needed to read a value. */
export interface Declarations {
  readonly names: readonly string[];
  /** Position of the declarations, for problems with values that have no position. */
  readonly at: Where;
  readonly type: (name: string) => string | undefined;
  readonly isSensitive: (name: string) => boolean;
  readonly positionOf: (name: string) => Where;
}

/** --var overrides files, and files override the environment. */
export function readGiven(
  inputs: VariableInputs,
  declared: Declarations,
  findings: Findings,
): ReadonlyMap<string, Given> {
  return new Map([
    ...fromEnvironment(inputs.environment ?? {}, declared, findings),
    ...fromFiles(inputs.files ?? [], declared, findings),
    ...fromSettings(inputs.settings ?? [], declared, findings),
  ]);
}

function fromSettings(settings: readonly string[], declared: Declarations, findings: Findings): [string, Given][] {
  return settings.flatMap((setting): [string, Given][] => {
    const cut = setting.indexOf('=');
    const name = cut < 0 ? setting : setting.slice(0, cut);
    if (!declared.names.includes(name)) {
      findings.add(undeclared(name, '--var gives', declared.names, declared.at));
      return [];
    }
    if (cut < 0) {
      const hint = `Write --var ${name}=VALUE.`;
      findings.add({
        code: 'BAD_VALUE',
        where: declared.positionOf(name),
        detail: `--var ${name} has no value.`,
        hint,
      });
      return [];
    }
    return [[name, fromText(name, setting.slice(cut + 1), `--var ${name}`, declared, findings)]];
  });
}

function fromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  declared: Declarations,
  findings: Findings,
): [string, Given][] {
  return Object.entries(environment).flatMap(([key, text]): [string, Given][] => {
    if (!key.startsWith(ENVIRONMENT_PREFIX) || text === undefined) return [];
    const name = key.slice(ENVIRONMENT_PREFIX.length);
    if (declared.names.includes(name)) return [[name, fromText(name, text, key, declared, findings)]];
    // Several stacks share an environment, so an unknown name is only a warning.
    const problem = undeclared(name, `${key} in the environment sets`, declared.names, declared.at);
    findings.add({ ...problem, severity: 'warning' });
    return [];
  });
}

function fromFiles(
  files: readonly { readonly name: string; readonly text: string }[],
  declared: Declarations,
  findings: Findings,
): [string, Given][] {
  return files.flatMap(({ name: file, text }): [string, Given][] => {
    const tree = parseTree(text, file, findings);
    if (!tree || tree.kind === 'unknown' || (tree.kind === 'scalar' && tree.value === '')) return [];
    if (tree.kind !== 'map') {
      findings.add({ code: 'BAD_VALUE', where: tree.at, detail: 'A variable file is a map from names to values.' });
      return [];
    }
    return [...tree.entries].flatMap(([name, { keyAt, value }]): [string, Given][] => {
      if (declared.names.includes(name)) return [[name, { value, hasPosition: true, source: file }]];
      findings.add(undeclared(name, 'This file sets', declared.names, keyAt));
      return [];
    });
  });
}

function fromText(name: string, text: string, source: string, declared: Declarations, findings: Findings): Given {
  const at = declared.positionOf(name);
  if (declared.isSensitive(name) && text !== '') findings.conceal(text);
  const given = (value: Located): Given => ({ value, hasPosition: false, source });
  const type = declared.type(name);
  if (type === undefined) return given(unknownAt(at));
  const simple = SCALAR_TYPES[type];
  if (simple) return given(scalar(simple.fromText?.(text) ?? text, at));
  const syntax = new Findings();
  const tree = parseTree(text, source, syntax);
  if (tree && !syntax.hasErrors) return given(relocated(tree, at));
  findings.add({
    code: 'BAD_VALUE',
    where: at,
    detail: `The value of ${source} cannot be read as a ${type === 'list' ? 'list' : 'map'}.`,
    hint: type === 'list' ? 'Write it as YAML or JSON: [a, b].' : 'Write it as YAML or JSON: { key: value }.',
  });
  return given(unknownAt(at));
}

function undeclared(name: string, opening: string, names: readonly string[], where: Where): Problem {
  return {
    code: 'MISSING_REFERENCE',
    where,
    detail: `${opening} the variable ${quote(name)}, which the stack does not declare.`,
    hint: didYouMean(name, names) ?? 'Declare it under "variables", or leave it out.',
  };
}
