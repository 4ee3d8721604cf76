/** The provider's reference pages: complete, in the registries' layout, and with examples that use only what there is. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../src/base/log.ts';
import { createProvider } from '../src/provider/index.ts';
import type { Provider } from '../src/provider/provider.ts';
import type { Attributes, Schema } from '../src/provider/schema/model.ts';
import { providerPages } from '../tools/docs/provider-reference.ts';
import { schemaSection } from '../tools/docs/provider-schema.ts';
import { root } from './docs-pages.ts';

const provider = await createProvider({ log: silentLogger, environment: {} });
const written = await providerPages(root, provider);
const schemas = { resources: await schemasOf(provider.resources), dataSources: await schemasOf(provider.dataSources) };

async function schemasOf(things: Provider['resources'] | Provider['dataSources']): Promise<Map<string, Schema>> {
  return new Map(await Promise.all([...things].map(async ([type, load]) => [type, (await load()).schema] as const)));
}

describe('the reference pages of the provider', () => {
  it('are one for the provider, each resource and each data source', () => {
    const expected = 1 + provider.resources.size + provider.dataSources.size;
    expect(Object.keys(written)).toHaveLength(expected);
    expect(Object.keys(written)).toContain('docs/provider/resources/vm.md');
    expect(Object.keys(written)).toContain('docs/provider/data-sources/vm.md');
  });

  it('begin with front matter, and have an example and a schema', () => {
    for (const [path, text] of Object.entries(written)) {
      expect(text, path).toMatch(/^---\npage_title: ".+"\nsubcategory: ""\ndescription: \|-\n {2}\S.+\n---\n/);
      expect(text, path).toContain('## Example Usage\n\n```terraform\n');
      expect(text, path).toContain('## Schema\n');
    }
    expect(written['docs/provider/resources/vm.md']).toContain('## Import\n');
  });

  it('have a section for every nested attribute', () => {
    const text = written['docs/provider/resources/vm.md'] ?? '';
    const links = [...text.matchAll(/\]\(#(nestedatt--[a-z0-9_-]+)\)/g)].map(([, id = '']) => id);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((id) => !text.includes(`<a id="${id}"></a>`))).toEqual([]);
  });
});

describe('the schema section', () => {
  const value = { kind: 'value', type: 'string' } as const;
  const attributes: Attributes = {
    b: { type: { kind: 'value', type: ['map', ['list', 'number']] }, given: 'optional', description: 'B.' },
    a: { type: value, given: 'required', description: 'A.', sensitive: true, deprecated: true },
    c: {
      type: {
        kind: 'nested',
        nesting: 'map',
        attributes: { d: { type: value, given: 'computed', description: 'D.', writeOnly: true } },
      },
      given: 'optional-computed',
      description: 'C.',
    },
  };

  it('groups attributes by who gives them', () => {
    expect(schemaSection(attributes)).toBe(
      [
        '## Schema',
        '### Required',
        '- `a` (String, Sensitive, Deprecated) A.',
        '### Optional',
        '- `b` (Map of List of Number) B.\n- `c` (Attributes Map) C. (see [below for nested schema](#nestedatt--c))',
        '<a id="nestedatt--c"></a>\n### Nested Schema for `c`',
        'Read-Only:',
        '- `d` (String, [Write-only](https://developer.hashicorp.com/terraform/language/resources/ephemeral#write-only-arguments)) D.',
      ].join('\n\n'),
    );
  });
});

describe('the examples', () => {
  it('set only attributes that exist', async () => {
    for (const [folder, all] of [
      ['resources', provider.resources],
      ['data-sources', provider.dataSources],
    ] as const) {
      for (const type of all.keys()) {
        const file = `docs/provider/examples/${folder}/${type.replace('proxwright_', '')}.tf`;
        expect(unknownNames(await readFile(join(root, file), 'utf8')), file).toEqual([]);
      }
    }
  });

  it('would be found out', () => {
    const text = 'resource "proxwright_vm" "x" {\n  name = "x"\n  memmory = "1GiB"\n  cpu = { core = 1 }\n}\n';
    expect(unknownNames(text)).toEqual(['proxwright_vm: memmory', 'proxwright_vm: core']);
  });
});

/** Names before `=` in our blocks that are no attribute at any depth: enough to find what was misspelled or renamed. */
function unknownNames(text: string): string[] {
  const meta = ['for_each', 'count', 'depends_on', 'provider'];
  const slots = /^(ide|sata|scsi|virtio|net|hostpci|usb|serial)\d+$/;
  return [...text.matchAll(/^(resource|data) "(proxwright_\w+)" "\w+" \{\n([\s\S]*?)^\}/gm)].flatMap(
    ([, kind, type = '', body = '']) => {
      const schema = (kind === 'data' ? schemas.dataSources : schemas.resources).get(type);
      const known = new Set(schema ? namesOf(schema) : []);
      return [...body.replaceAll(/"[^"\n]*"/g, '""').matchAll(/\b([a-z_0-9]+)\s*=(?![=>])/g)]
        .map(([, name = '']) => name)
        .filter((name) => !known.has(name) && !meta.includes(name) && !slots.test(name))
        .map((name) => `${type}: ${name}`);
    },
  );
}

function namesOf({ attributes }: Pick<Schema, 'attributes'>): string[] {
  return Object.entries(attributes).flatMap(([name, { type }]) => [
    name,
    ...(type.kind === 'nested' ? namesOf(type) : []),
  ]);
}
