/**
 * Writes the facts about the API of Proxmox VE into the simulator: `npm run facts`. The facts themselves become
 * `api-facts.generated.ts`, the types of what handlers receive `api-params.generated.ts`, the names of all other endpoints
 * `other-endpoints.generated.ts`; a test compares them with what would be written. The input is in `tools/api-facts`.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readFacts, renderFacts, renderOtherEndpoints } from './api-facts/facts.ts';
import { renderParams } from './api-facts/params.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const INPUT = 'tools/api-facts/pve-9.2.11.json';
const OTHERS = 'tools/api-facts/other-endpoints.json';

/** The generated files, each with its present text and the text it should have. */
export async function generatedFacts(): Promise<{ path: string; present: string; expected: string }[]> {
  const facts = readFacts(await readFile(join(root, INPUT), 'utf8'));
  const texts = {
    'src/simulator/schema/api-facts.generated.ts': renderFacts(facts),
    'src/simulator/schema/api-params.generated.ts': renderParams(facts),
    'src/simulator/schema/other-endpoints.generated.ts': renderOtherEndpoints(
      await readFile(join(root, OTHERS), 'utf8'),
    ),
  };
  const files = Object.entries(texts).map(async ([path, expected]) => {
    const present = await readFile(join(root, path), 'utf8').catch(() => '');
    return { path, present, expected };
  });
  return Promise.all(files);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, present, expected } of await generatedFacts()) {
    if (present !== expected) await writeFile(join(root, path), expected);
    console.log(`${path}: ${present === expected ? 'up to date' : 'rewritten'}`);
  }
}
