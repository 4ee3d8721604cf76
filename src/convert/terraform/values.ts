/** How single values are written on our side: literals are computed, other expressions are wrapped in one that computes them. */

import type { Expression, Literal, Template } from '../hcl/syntax.ts';
import type { Conversion } from '../mapping/rows.ts';

export interface SourceValue {
  readonly expression: Expression;
  /** As HCL, with references translated already. */
  readonly text: string;
  /** Whether it may be null, if that is visible. */
  readonly mayBeNull: boolean;
}

/** Undefined: there is nothing to write. */
export type Converted = { readonly text: string } | { readonly cannot: string } | undefined;

export function convertValue(as: Conversion, value: SourceValue): Converted {
  const { expression } = value;
  if (expression.kind === 'literal' && expression.value === null) return undefined;
  const literal = expression.kind === 'literal' ? expression.value : negative(expression);
  const done = literal === undefined ? undefined : convertLiteral(as, literal);
  if (done !== undefined) return done === '' ? undefined : { text: done };
  const wrapped = wrap(as, value);
  if (wrapped === undefined) return { cannot: `Convert cannot compute this value from ${value.text}.` };
  return {
    text: value.mayBeNull && wrapped !== value.text ? `${operand(value)} == null ? null : ${wrapped}` : wrapped,
  };
}

/** `-1` is an operation in HCL. */
function negative(expression: Expression): number | undefined {
  if (expression.kind !== 'operation' || expression.operator !== '-' || expression.operands.length !== 1)
    return undefined;
  const [operand] = expression.operands;
  return operand?.kind === 'literal' && typeof operand.value === 'number' ? -operand.value : undefined;
}

const quoted = (text: string): string =>
  `"${text
    .replace(/[\\"]/g, '\\$&')
    .replace(/\n/g, '\\n')
    .replace(/\t/g, '\\t')
    .replace(/\r/g, '\\r')
    .replace(/([$%])\{/g, '$1$1{')}"`;

const list = (items: readonly string[]): string => (items.length === 0 ? '[]' : `[${items.join(', ')}]`);

/** Undefined: not a literal that this conversion knows. Empty: nothing to write. */
function convertLiteral(as: Conversion, value: string | number | boolean | null): string | undefined {
  const text = String(value);
  const number = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
  const parts = (separator: RegExp) =>
    text
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '');
  switch (as) {
    case 'GiB':
      return number === undefined ? undefined : quoted(`${number}GiB`);
    case 'MiB':
      return number === undefined ? undefined : quoted(mebibytes(number));
    case 'balloon':
      return number === undefined ? undefined : number === 0 ? '"none"' : quoted(mebibytes(number));
    case 'seconds':
      return number === undefined ? undefined : number < 0 ? '' : quoted(`${number}s`);
    case 'milliseconds':
      return number === undefined ? undefined : quoted(number % 1000 === 0 ? `${number / 1000}s` : `${number}ms`);
    case 'vmid':
      return number === 0 ? '' : undefined;
    case 'on':
      return String(text === 'on' || text === 'true');
    case 'number-flag':
      return String(text !== '0' && text !== 'false');
    case 'flag':
      return String(!['0', 'false', 'off', 'ignore', ''].includes(text));
    case 'vlan':
      return number === undefined ? undefined : number < 1 ? '' : text;
    case 'power':
      return text === 'true' ? '"running"' : '"stopped"';
    case 'ha-state':
      return text === '' ? '' : quoted(text === 'enabled' ? 'started' : text);
    case 'not-empty':
      return text === '' ? '' : quoted(text);
    case 'clone-mode':
      return text === 'true' ? '"full"' : '"linked"';
    case 'restart':
      return text === 'true' ? '"when_needed"' : '"never"';
    case 'text':
      return quoted(text);
    case 'comma-list':
      return list((text === '0' ? [] : parts(/,/)).map(quoted));
    case 'tag-list':
      return list(parts(/[,; ]/).map(quoted));
    case 'vlan-list':
      return list(parts(/;/));
    case 'semicolon-list':
      return list(parts(/[;,]/).map(quoted));
    case 'lines':
      return list(parts(/\n/).map(quoted));
    case 'words':
      return list(parts(/[ ,]+/).map(quoted));
    case 'one':
      return list([quoted(text)]);
    case 'iso':
      return text === 'cdrom' ? '' : text === '' || text === 'none' ? '"none"' : quoted(text);
    case 'hugepages':
      return text === 'any' ? '"any"' : text === '1024' ? '"1GiB"' : quoted(`${text}MiB`);
    case 'boot-order':
      // Letters such as "cdn" are the way of earlier releases: `bootdisk` says the disk.
      return /^[acdn]*$/.test(text) ? '' : list(parts(/[;,]/).map((part) => quoted(part.replace(/^order=/, ''))));
    case 'size':
      return quoted(number === undefined ? text : `${number}GiB`);
    case 'guest':
      return text === 'cloud-init' ? '"cloud-init"' : '';
    case 'api-url':
      return quoted(text.replace(/\/api2\/json\/?$/, ''));
    default:
      return undefined;
  }
}

function mebibytes(number: number): string {
  return number !== 0 && number % 1024 === 0 ? `${number / 1024}GiB` : `${number}MiB`;
}

function wrap(as: Conversion, value: SourceValue): string | undefined {
  const { text } = value;
  const it = operand(value);
  switch (as) {
    case 'same':
    case 'vmid':
    case 'flag':
    case 'iso':
    case 'password':
    case 'machine':
      return text;
    case 'GiB':
      return withUnit(value, 'GiB');
    case 'MiB':
      return withUnit(value, 'MiB');
    case 'balloon':
      return `${it} == 0 ? "none" : ${withUnit(value, 'MiB')}`;
    case 'seconds':
      return withUnit(value, 's');
    case 'milliseconds':
      return withUnit(value, 'ms');
    case 'on':
      return `${it} == "on"`;
    case 'number-flag':
      return `${it} != 0`;
    case 'power':
      return `${it} ? "running" : "stopped"`;
    case 'ha-state':
      return `${it} == "" ? null : ${it} == "enabled" ? "started" : ${text}`;
    case 'not-empty':
      return `${it} == "" ? null : ${text}`;
    case 'clone-mode':
      return `${it} ? "full" : "linked"`;
    case 'restart':
      return `${it} ? "when_needed" : "never"`;
    case 'text':
      return `tostring(${text})`;
    case 'comma-list':
      return `compact(split(",", ${text}))`;
    case 'tag-list':
      return `compact(split(",", replace(${text}, ";", ",")))`;
    case 'vlan-list':
      return `[for vlan in compact(split(";", ${text})) : tonumber(vlan)]`;
    case 'semicolon-list':
      return `compact(split(";", ${text}))`;
    case 'lines':
      return `[for line in split("\\n", ${text}) : trimspace(line) if trimspace(line) != ""]`;
    case 'words':
      return `compact(split(" ", ${text}))`;
    case 'one':
      return `[${text}]`;
    case 'hugepages':
      return `lookup({ "2" = "2MiB", "1024" = "1GiB" }, ${text}, "any")`;
    case 'vlan':
      return `max(${text}, 0)`;
    case 'api-url':
      return `trimsuffix(${text}, "/api2/json")`;
    case 'boot-order':
      return `compact(split(";", trimprefix(${text}, "order=")))`;
    case 'size':
      return `can(tonumber(${text})) ? ${withUnit(value, 'GiB')} : ${text}`;
    default:
      return undefined;
  }
}

function withUnit({ expression, text }: SourceValue, unit: string): string {
  // "${var.size}" and "${var.size}G" alike: text may follow.
  if ((expression.kind === 'template' || expression.kind === 'literal') && !expression.isHeredoc) {
    return `${text.slice(0, -1)}${unit}"`;
  }
  return `"\${${text}}${unit}"`;
}

/** Text that can be an operand. */
export function operand({ expression, text }: SourceValue): string {
  const isSimple = !['operation', 'conditional'].includes(expression.kind);
  return isSimple ? text : `(${text})`;
}

/** `ip=10.0.0.5/24,gw=10.0.0.1` → each part as HCL. Parts may have interpolations. Undefined: not such a text. */
export function ipconfigParts(value: SourceValue, source: string): ReadonlyMap<string, string> | undefined {
  const fields = templateFields(value.expression, source);
  if (!fields) return undefined;
  const parts = new Map<string, string>();
  for (const field of fields) {
    const match = /^\s*(ip6?|gw6?)=(.*?)\s*$/s.exec(field);
    if (!match) return undefined;
    const [, key = '', text = ''] = match;
    const alone = /^\$\{([^{}]+)\}$/.exec(text)?.[1];
    parts.set(key, alone?.trim() ?? `"${text}"`);
  }
  return parts;
}

/** A quoted text split at its commas, each part in the spelling of the source. */
function templateFields(expression: Expression, source: string): readonly string[] | undefined {
  if (expression.kind === 'literal' && typeof expression.value === 'string') {
    return expression.value.split(',').filter((part) => part.trim() !== '');
  }
  if (expression.kind !== 'template' || expression.isHeredoc) return undefined;
  return splitTemplate(expression, source);
}

function splitTemplate(template: Template, source: string): readonly string[] {
  const fields = [''];
  for (const part of template.parts) {
    const raw = source.slice(part.start, part.end);
    if (part.kind !== 'text') {
      fields.push(`${fields.pop() ?? ''}${raw}`);
      continue;
    }
    const [first = '', ...rest] = raw.split(',');
    fields.push(`${fields.pop() ?? ''}${first}`, ...rest);
  }
  return fields.filter((field) => field.trim() !== '');
}

export function literalText(expression: Expression): string | undefined {
  const literal: Literal | undefined = expression.kind === 'literal' ? expression : undefined;
  return literal?.value === undefined || literal.value === null ? undefined : String(literal.value);
}

export { quoted as quotedText };
