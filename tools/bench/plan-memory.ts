/** Plans for many VMs on the server of the environment and prints what that took: `plan-memory.ts COUNT`. */
import { performance } from 'node:perf_hooks';
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { planStack } from '../../src/engine/plan.ts';
import { observe } from '../../src/kinds/observe.ts';
import { connectionFromEnvironment, createPve, requireConnection } from '../../src/pve/index.ts';
import { plannedStack } from './planned-world.ts';

const count = Number(process.argv[2]);
const found = connectionFromEnvironment(process.env);
const { endpoint, credentials } = requireConnection(found);
const pve = createPve({ connection: { endpoint, trust: found.trust }, credentials });
const startedAt = performance.now();
const { stack, state } = plannedStack(count);
const observed = await observe({ pve, stack, state });
const planned = planStack({ stack, state, observed, secrets: new Map(), now: 0 });
if (!planned.ok) throw new Error(planned.problems.slice(0, 3).map(formatDiagnostic).join('\n'));
const seconds = (performance.now() - startedAt) / 1000;
const changes = planned.plan.changes.flatMap(({ differences }) => differences).length;
// Kilobytes, says Node.
const maxRssBytes = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ maxRssBytes, seconds, changes }));
await pve.close();
