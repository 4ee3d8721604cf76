/** What a user reads in the npm package links only to files that are in it. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly files: readonly string[] };
/** npm packs the last three in any case. */
const PACKED = [...files.filter((name) => !name.startsWith('!')), 'README.md', 'LICENSE', 'package.json'];

const isPacked = (path: string) => PACKED.some((name) => path === name || path.startsWith(`${name}/`));

describe('the pages for users in the npm package', () => {
  const guide = readdirSync(join(root, 'docs/guide')).map((name) => `docs/guide/${name}`);

  it.each(['README.md', ...guide.filter((name) => name.endsWith('.md'))])(
    'link only to files of the package: %s',
    (page) => {
      const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '');
      const links = [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map(([, path = '']) =>
        normalize(join(dirname(page), path)),
      );
      expect(links.filter((path) => !isPacked(path.replace(/\/$/, '')))).toEqual([]);
    },
  );

  it('would be found if they linked elsewhere', () => {
    expect(['docs/guide/teams.md', 'docs', 'src/index.ts', 'documents.md'].map(isPacked)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
