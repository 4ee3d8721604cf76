/** Writes the TypeScript of the protocol's messages from `src/provider/protocol/*.proto`. The result is committed. */
import { writeFile } from 'node:fs/promises';
import { generateProtocol } from './protocol/generate.ts';

for (const { path, text } of await generateProtocol()) await writeFile(path, text);
