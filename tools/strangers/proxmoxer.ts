/** proxmoxer, the usual Python client: installed into its own virtual environment, then used for the lifecycle of a VM. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { difference } from './difference.ts';
import { isThere, run, tail } from './shell.ts';
import { NODE, type Stranger } from './simulator.ts';

const SCRIPT = fileURLToPath(new URL('./proxmoxer_lifecycle.py', import.meta.url));

export async function runProxmoxer({ server, directory, report }: Stranger): Promise<void> {
  if (!(await isThere('python3', '--version'))) return report.skip('python3 is not installed');
  const environment = join(directory, 'venv');
  const python = join(environment, 'bin', 'python');
  const created = await run('python3', ['-m', 'venv', environment]);
  if (created.code !== 0) return report.skip(`no virtual environment: ${tail(created.output, 1)}`);
  const installed = await run(python, ['-m', 'pip', 'install', '--quiet', 'proxmoxer', 'requests']);
  if (installed.code !== 0) return report.skip(`pip cannot install proxmoxer: ${tail(installed.output, 1)}`);

  const before = await server.inventory();
  const { host } = new URL(server.endpoint);
  const life = await run(python, [SCRIPT, host, server.certificateFile, NODE], {
    environment: { PROXMOX_VE_API_TOKEN: server.token },
  });
  const lines = life.stdout.split('\n').filter((line) => /^(PASS|FAIL) /.test(line));
  for (const line of lines) report.check(line.slice(5), line.startsWith('PASS'));
  if (lines.length === 0) report.check('the script runs', false, tail(life.output));
  const left = difference(before, await server.inventory());
  report.check('the world is as it was before', left === '', left);
}
