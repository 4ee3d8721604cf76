/** Every row of the mapping leads to an attribute that our provider has, and every name in it is written once. */
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { BPG_PROVIDER, TELMATE_PROVIDER } from '../../src/convert/mapping/images.ts';
import { isBlockRow, type Row } from '../../src/convert/mapping/rows.ts';
import { SOURCES } from '../../src/convert/mapping/sources.ts';
import { createProvider } from '../../src/provider/index.ts';
import type { Attributes } from '../../src/provider/schema/model.ts';

const provider = await createProvider({ log: silentLogger, environment: {} });
const schemas = new Map(
  await Promise.all([...provider.resources].map(async ([type, load]) => [type, (await load()).schema] as const)),
);
const schemaOf = (type: string): Attributes => schemas.get(type)?.attributes ?? {};

/** Paths that the schema does not have. */
function missing(rows: readonly Row[], attributes: Attributes): string[] {
  return rows.flatMap((row) => {
    if (isBlockRow(row)) {
      const { collection } = row;
      if (collection?.scalar) return hasPath(collection.to, attributes) ? [] : [collection.to];
      return missing(row.rows, collection ? inside(collection.to, attributes) : attributes).concat(
        // Cloud-init drives of Telmate lie among the disks.
        collection && !hasPath(collection.to, attributes) ? [collection.to] : [],
      );
    }
    return row.to === undefined || row.to === '' || hasPath(row.to, attributes) ? [] : [row.to];
  });
}

function inside(name: string, attributes: Attributes): Attributes {
  const type = attributes[name]?.type;
  return type?.kind === 'nested' ? type.attributes : {};
}

function hasPath(path: string, attributes: Attributes): boolean {
  const [first = '', ...rest] = path.split('.');
  if (!Object.hasOwn(attributes, first)) return false;
  const type = attributes[first]?.type;
  if (rest.length === 0 || type?.kind !== 'nested') return true;
  return hasPath(rest.join('.'), type.attributes) || /^net\d+$/.test(rest[0] ?? '');
}

const duplicated = (rows: readonly Row[]): string[] => {
  const names = rows.map((row) => (isBlockRow(row) ? row.block : row.from));
  return names.filter((name, index) => names.indexOf(name) !== index);
};

describe('the mapping', () => {
  it.each(SOURCES.map((source) => [source.types[0] ?? '', source] as const))(
    'names only attributes that exist for %s',
    (_, source) => {
      expect(missing(source.rows, schemaOf(source.to))).toEqual([]);
      expect(source.rows.length).toBeGreaterThan(8);
    },
  );

  it('names only arguments that exist for provider blocks', () => {
    expect(missing([...BPG_PROVIDER, ...TELMATE_PROVIDER], provider.schema.attributes)).toEqual([]);
  });

  it('reports an attribute that does not exist', () => {
    expect(missing([{ from: 'a', to: 'cpu.coors' }], schemaOf('proxwright_vm'))).toEqual(['cpu.coors']);
  });

  it('has no row twice, but for the two spellings of cpu', () => {
    for (const { rows } of SOURCES) expect(duplicated(rows)).toEqual([]);
  });
});
