/** The types of values in the host's language, in the form the protocol writes them in JSON. */

export type CtyType =
  | 'string'
  | 'number'
  | 'bool'
  | 'dynamic'
  | readonly ['list' | 'set' | 'map', CtyType]
  | readonly ['object', Readonly<Record<string, CtyType>>]
  | readonly ['tuple', readonly CtyType[]];

/** Reads the protocol's JSON; throws where it is none. Attributes marked as optional are attributes all the same. */
export function typeFromJson(text: string): CtyType {
  return checkedType(JSON.parse(text));
}

function checkedType(json: unknown): CtyType {
  if (json === 'string' || json === 'number' || json === 'bool' || json === 'dynamic') return json;
  if (Array.isArray(json)) {
    const [kind, inner]: unknown[] = json;
    if (kind === 'list' || kind === 'set' || kind === 'map') return [kind, checkedType(inner)];
    if (kind === 'tuple' && Array.isArray(inner)) return ['tuple', inner.map(checkedType)];
    if (kind === 'object' && typeof inner === 'object' && inner !== null) {
      const entries = Object.entries(inner).map(([name, type]): [string, CtyType] => [name, checkedType(type)]);
      return ['object', Object.fromEntries(entries)];
    }
  }
  throw new SyntaxError('not a type of the host language');
}
