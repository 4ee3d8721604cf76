/**
 * The example talos-rolling with the built command and its real hook scripts: five nodes get a new template one at a time.
 * Stand-ins for kubectl and talosctl record what the hooks ask for, in order.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { announcedVariables, ensureBuilt, startCommand } from '../e2e/built-command.ts';

/** A node has its configuration once it was applied. */
const STAND_IN = `#!/bin/sh
case "$*" in
  *version) exec test -e "$RECORD.$2" ;;
  'get node'*) exit 0 ;;
  'apply-config'*) : >"$RECORD.$4" ;;
  *reset*) rm -f "$RECORD.$2" ;;
esac
echo "$(basename "$0") $*" >>"$RECORD"
`;

const NODES = [
  ['talos-rolling-control-1', '10.0.20.11', 'controlplane'],
  ['talos-rolling-control-2', '10.0.20.12', 'controlplane'],
  ['talos-rolling-control-3', '10.0.20.13', 'controlplane'],
  ['talos-rolling-worker-1', '10.0.20.151', 'worker'],
  ['talos-rolling-worker-2', '10.0.20.152', 'worker'],
] as const;

/** The node with a patch of its own. */
const PATCHED = 'talos-rolling-worker-1';

const callsFor = ([name, address, role]: (typeof NODES)[number]) => [
  `kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data --timeout=10m`,
  `talosctl --nodes ${address} reset --graceful --reboot=false --timeout 4m`,
  `kubectl delete node ${name} --ignore-not-found`,
  [
    `talosctl apply-config --insecure --nodes ${address} --file talos-talos-rolling/${role}.yaml`,
    `--config-patch {"machine":{"nodeLabels":{"proxwright/host":"vmhost"}}}`,
    ...(name === PATCHED ? [`--config-patch @talos-talos-rolling/node-${name}.yaml`] : []),
  ].join(' '),
  `kubectl wait --for=condition=Ready node/${name} --timeout=10m`,
  `kubectl uncordon ${name}`,
];

describe('the example talos-rolling', () => {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-rolling-'));
  const simulator = { stop: async () => {} };
  beforeAll(() => ensureBuilt());
  afterAll(async () => {
    await simulator.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('takes one node after the other through its hooks onto the new template', async () => {
    const sim = startCommand(['sim', '--listen', '127.0.0.1:0', '--speed', '60', '--world', 'bare']);
    simulator.stop = async () => {
      sim.process.kill('SIGTERM');
      await sim.finished;
    };
    const record = join(directory, 'record');
    mkdirSync(join(directory, 'bin'));
    for (const name of ['kubectl', 'talosctl']) {
      writeFileSync(join(directory, 'bin', name), STAND_IN);
      chmodSync(join(directory, 'bin', name), 0o755);
    }
    const environment = {
      ...announcedVariables(await sim.firstLines(3)),
      PATH: `${join(directory, 'bin')}:${process.env.PATH}`,
      RECORD: record,
    };
    const run = async (...args: string[]) => startCommand(args, environment, directory).finished;
    expect((await run('init', '--example', 'talos-rolling')).code).toBe(0);
    const first = await run('apply', '--yes');
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('SUCCESS Applied')]);
    writeFileSync(record, '');
    mkdirSync(join(directory, 'talos-talos-rolling'));
    writeFileSync(join(directory, 'talos-talos-rolling', `node-${PATCHED}.yaml`), 'machine: {}\n');
    const later = ['--var', 'talos_version=v1.12.5'];
    const planned = await run('plan', ...later);
    expect(planned.stdout).toContain(
      'vm.control: 3 VMs become unavailable, 1 of 3 at a time: [1]; then [2]; then [3].',
    );
    const rolled = await run('apply', '--yes', ...later);
    expect([rolled.code, rolled.stderr]).toEqual([0, expect.stringContaining('SUCCESS Applied')]);
    const asked = readFileSync(record, 'utf8').trim().split('\n');
    expect(asked.slice(0, 18)).toEqual(NODES.slice(0, 3).flatMap(callsFor));
    expect(asked.slice(18)).toEqual(NODES.slice(3).flatMap(callsFor));
    expect(await run('plan', '--exit-code', ...later)).toMatchObject({ code: 0 });
  });
});
