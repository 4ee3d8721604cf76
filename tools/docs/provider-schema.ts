/** The "Schema" section of a provider's reference page, as registries lay it out. */
import type { CtyType } from '../../src/provider/cty/value.ts';
import type { Attribute, Attributes, AttributeType } from '../../src/provider/schema/model.ts';

const WRITE_ONLY = 'https://developer.hashicorp.com/terraform/language/resources/ephemeral#write-only-arguments';

export function schemaSection(attributes: Attributes): string {
  const groups = grouped(attributes, '').map(([title, lines]) => `### ${title}\n\n${lines}`);
  return ['## Schema', ...groups, ...nestedSections(attributes, '')].join('\n\n');
}

function nestedSections(attributes: Attributes, path: string): string[] {
  return sorted(attributes).flatMap(([name, { type }]) => {
    if (type.kind !== 'nested') return [];
    const own = path === '' ? name : `${path}.${name}`;
    const groups = grouped(type.attributes, own).map(([title, lines]) => `${title}:\n\n${lines}`);
    const head = `<a id="${anchor(own)}"></a>\n### Nested Schema for \`${own}\``;
    return [[head, ...groups].join('\n\n'), ...nestedSections(type.attributes, own)];
  });
}

/** Titles with their lines; those that would be empty are left out. */
function grouped(attributes: Attributes, path: string): [string, string][] {
  const groups: readonly (readonly [string, readonly Attribute['given'][]])[] = [
    ['Required', ['required']],
    ['Optional', ['optional', 'optional-computed']],
    ['Read-Only', ['computed']],
  ];
  return groups.flatMap(([title, kinds]) => {
    const members = sorted(attributes).filter(([, { given }]) => kinds.includes(given));
    const lines = members.map(([name, attribute]) => line(name, attribute, path));
    return lines.length === 0 ? [] : [[title, lines.join('\n')] satisfies [string, string]];
  });
}

function line(name: string, attribute: Attribute, path: string): string {
  const { type, description, sensitive, deprecated, writeOnly } = attribute;
  const marks = [
    typeWords(type),
    ...(sensitive ? ['Sensitive'] : []),
    ...(deprecated ? ['Deprecated'] : []),
    ...(writeOnly ? [`[Write-only](${WRITE_ONLY})`] : []),
  ];
  const link = `(see [below for nested schema](#${anchor(path === '' ? name : `${path}.${name}`)}))`;
  const text = [`- \`${name}\` (${marks.join(', ')})`, description, type.kind === 'nested' ? link : ''];
  return text.filter(Boolean).join(' ');
}

function anchor(path: string): string {
  return `nestedatt--${path.replaceAll('.', '--')}`;
}

function sorted(attributes: Attributes): [string, Attribute][] {
  return Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
}

function typeWords(type: AttributeType): string {
  if (type.kind === 'value') return valueWords(type.type);
  return { single: 'Attributes', list: 'Attributes List', map: 'Attributes Map' }[type.nesting];
}

const SCALARS = { string: 'String', number: 'Number', bool: 'Boolean', dynamic: 'Dynamic' } as const;
const COLLECTIONS = { list: 'List', set: 'Set', map: 'Map' } as const;

function valueWords(type: CtyType): string {
  if (typeof type === 'string') return SCALARS[type];
  switch (type[0]) {
    case 'object':
      return 'Object';
    case 'tuple':
      return 'Tuple';
    default:
      return `${COLLECTIONS[type[0]]} of ${valueWords(type[1])}`;
  }
}
