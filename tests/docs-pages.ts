/** The pages of the documentation, for the tests that read them. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Page {
  readonly path: string;
  readonly text: string;
}

export async function page(path: string): Promise<Page> {
  return { path, text: await readFile(join(root, path), 'utf8') };
}

export async function pages(): Promise<Page[]> {
  const below = await readdir(join(root, 'docs'), { recursive: true });
  const inDocs = below.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  return Promise.all(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...inDocs].map(page));
}

/** Every text in code: spans and blocks. */
export function codeIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...spans];
}
