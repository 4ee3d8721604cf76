/** An apply in a separate process, to be killed: `apply-process.ts STACK_FILE STATE_DIRECTORY`, server by environment. */
import { readFileSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { openServer } from '../server.ts';
import { apply } from './runs.ts';

const [stackFile = '', stateDirectory = ''] = process.argv.slice(2);
const server = await openServer();
await apply({ pve: server.pve, clock: systemClock, stateDirectory }, readFileSync(stackFile, 'utf8'));
await server.close();
