/**
 * The provider's reference pages, in the layout that registries show: front matter, description, example, schema, import.
 * Schemas come from the provider itself; examples are files beside the pages.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Provider } from '../../src/provider/provider.ts';
import type { Schema } from '../../src/provider/schema/model.ts';
import { schemaSection } from './provider-schema.ts';

const FOLDER = 'docs/provider';

/** Path of a page → its whole text. */
export async function providerPages(
  root: string,
  provider: Pick<Provider, 'schema' | 'resources' | 'dataSources'>,
): Promise<Record<string, string>> {
  const pages: [string, string][] = [];
  const example = (name: string) => readFile(join(root, FOLDER, 'examples', name), 'utf8').catch(() => undefined);
  const titles = { title: 'Provider: proxwright', heading: 'proxwright Provider' };
  const guides = await guideLinks(join(root, FOLDER, 'guides'));
  const index = page({ ...titles, schema: provider.schema, example: await example('provider.tf'), guides });
  pages.push([`${FOLDER}/index.md`, index]);
  for (const [folder, kind, all] of [
    ['resources', 'Resource', provider.resources],
    ['data-sources', 'Data Source', provider.dataSources],
  ] as const) {
    for (const [type, load] of all) {
      const { schema } = await load();
      const short = type.replace(/^proxwright_/, '');
      const [usage, blocks, shell] = await Promise.all(
        [`${short}.tf`, `${short}-import.tf`, `${short}-import.sh`].map((name) => example(`${folder}/${name}`)),
      );
      const title = `${type} ${kind} - proxwright`;
      pages.push([
        `${FOLDER}/${folder}/${short}.md`,
        page({ title, heading: `${type} (${kind})`, schema, example: usage, imports: { blocks, shell } }),
      ]);
    }
  }
  return Object.fromEntries(pages);
}

/** Pages that people wrote, by their headings. */
async function guideLinks(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort();
  const links = names.map(async (name) => {
    const [, heading = name] = /^# (.+)$/m.exec(await readFile(join(folder, name), 'utf8')) ?? [];
    return `- [${heading}](guides/${name})`;
  });
  return (await Promise.all(links)).join('\n');
}

interface PageParts {
  readonly title: string;
  readonly heading: string;
  readonly schema: Schema;
  readonly example: string | undefined;
  readonly guides?: string;
  readonly imports?: { readonly blocks: string | undefined; readonly shell: string | undefined };
}

function page({ title, heading, schema, example, guides, imports }: PageParts): string {
  const { description, attributes } = schema;
  const [summary = ''] = description.split('\n');
  const parts = [
    `---\npage_title: "${title}"\nsubcategory: ""\ndescription: |-\n  ${summary}\n---`,
    '<!-- Written by npm run docs. -->',
    `# ${heading}`,
    description,
    guides && `## Guides\n\n${guides}`,
    example && `## Example Usage\n\n${code('terraform', example)}`,
    schemaSection(attributes),
    ...importSection(imports),
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

function importSection(imports: PageParts['imports']): string[] {
  if (imports?.blocks === undefined || imports.shell === undefined) return [];
  return [
    '## Import',
    'With an [`import` block](https://developer.hashicorp.com/terraform/language/import):',
    code('terraform', imports.blocks),
    'Or by the command line:',
    code('shell', imports.shell),
  ];
}

function code(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trim()}\n\`\`\``;
}
