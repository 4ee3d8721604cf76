/**
 * Clients that know nothing of Proxwright, against the simulator: proxmoxer (Python), and the bpg provider under a real
 * Terraform. They were written for a real Proxmox VE, so what fails in them is a defect of the simulator, unless the
 * real server would refuse it as well.
 *
 *   npm run build && npx tsx tools/strangers/run.ts [proxmoxer] [bpg] [--speed N] [--keep] [--verbose]
 *
 * Without names both run. Each needs its tools and says so when they are missing (that is a skip, not a failure):
 * proxmoxer needs python3 and a package index; bpg needs terraform, and go with a module proxy unless
 * PROXWRIGHT_BPG_PROVIDER names a built `terraform-provider-proxmox`. PROXWRIGHT_BPG_VERSION picks another version.
 * The server is the built command, `proxwright sim --world recorded`; `--verbose` prints the requests it gets.
 * `--speed` is how much faster than ours the simulated clock runs, `--keep` leaves the temporary directory in place.
 * Prints PASS, FAIL and SKIP lines; the exit code is 1 if anything failed. Not part of `npm test`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runBpg } from './bpg.ts';
import { runProxmoxer } from './proxmoxer.ts';
import { Report } from './report.ts';
import { startSimulator } from './simulator.ts';

const STRANGERS = { proxmoxer: runProxmoxer, bpg: runBpg };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    speed: { type: 'string', default: '10' },
    keep: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((name) => !Object.hasOwn(STRANGERS, name));
if (unknown.length > 0) {
  console.error(`no such stranger: ${unknown.join(', ')}; known are ${Object.keys(STRANGERS).join(', ')}`);
  process.exit(2);
}

const report = new Report();
const directory = await mkdtemp(join(tmpdir(), 'proxwright-strangers-'));
try {
  for (const [name, run] of Object.entries(STRANGERS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    report.begin(name);
    // A world of its own for each, so that none meets what another left behind.
    const server = await startSimulator({
      directory,
      speed: values.speed,
      verbose: values.verbose,
    });
    try {
      await run({ server, directory: await mkdtemp(join(directory, `${name}-`)), report });
    } finally {
      await server.close();
    }
  }
} finally {
  if (values.keep) console.log(`kept ${directory}`);
  else await rm(directory, { recursive: true, force: true });
}
console.log(report.summary());
process.exitCode = report.failed > 0 ? 1 : 0;
