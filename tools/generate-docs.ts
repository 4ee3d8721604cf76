/**
 * Rewrites the parts of the documentation that are generated: `npm run docs`. What stands between the markers
 * `<!-- generated: name -->` and `<!-- end generated -->` is replaced, and the provider's reference pages and the manual page are
 * written as a whole; a test compares both with what would be written.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '../src/base/log.ts';
import { createProvider } from '../src/provider/index.ts';
import { commandReference } from './docs/command-reference.ts';
import { fidelity } from './docs/fidelity.ts';
import { jsonReference, jsonSchemaFiles } from './docs/json-documents.ts';
import { manPage } from './docs/man-page.ts';
import { mappingParts } from './docs/mapping-reference.ts';
import { type GeneratedParts, withGeneratedParts } from './docs/markdown.ts';
import {
  changingPrivileges,
  fieldPrivileges,
  lostWithNine,
  providerFacts,
  readingPrivileges,
} from './docs/permissions-reference.ts';
import { providerPages } from './docs/provider-reference.ts';
import { sectionsReference, vmReference } from './docs/stack-reference.ts';
import { worldReference } from './docs/world-reference.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Pages with generated parts, each with its present text and the text it should have. */
export async function generatedPages(): Promise<{ path: string; present: string; expected: string }[]> {
  const pages: Readonly<Record<string, GeneratedParts>> = {
    'docs/simulator.md': { fidelity: await fidelity(root), 'world-file': worldReference() },
    'docs/reference/stack-fields.md': { sections: sectionsReference(), 'vm-fields': vmReference() },
    'docs/reference/commands.md': { commands: commandReference() },
    'docs/reference/json.md': { documents: jsonReference() },
    'docs/guide/permissions.md': {
      fields: fieldPrivileges(),
      readings: readingPrivileges(),
      releases: changingPrivileges(),
    },
    'docs/provider/guides/coming-from-bpg-or-telmate.md': mappingParts(),
    'docs/guide/upgrading-proxmox.md': { lost: lostWithNine(), providers: providerFacts() },
  };
  const inParts = Object.entries(pages).map(async ([path, parts]) => {
    const present = await readFile(join(root, path), 'utf8');
    return { path, present, expected: withGeneratedParts(present, parts) };
  });
  const provider = await createProvider({ log: silentLogger, environment: {} });
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }; // our own file
  const pagesAsAWhole = {
    ...(await providerPages(root, provider)),
    ...jsonSchemaFiles(),
    'man/proxwright.1': manPage(version),
  };
  const whole = Object.entries(pagesAsAWhole).map(async ([path, expected]) => {
    const present = await readFile(join(root, path), 'utf8').catch(() => '');
    return { path, present, expected };
  });
  return Promise.all([...inParts, ...whole]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, present, expected } of await generatedPages()) {
    if (present !== expected) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), expected);
    }
    console.log(`${path}: ${present === expected ? 'up to date' : 'rewritten'}`);
  }
}
