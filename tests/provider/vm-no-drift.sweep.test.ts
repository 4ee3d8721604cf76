/** The same law through Terraform as for the engine: no false drift and no missed drift, over all fields. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desiredConfig } from '../../src/kinds/vm/config/desired-config.ts';
import type { VmFields } from '../../src/kinds/vm/fields/index.ts';
import { vmFieldsArbitrary } from '../../src/kinds/vm/testing/arbitrary-vm.ts';
import { foreignChanges } from '../../src/kinds/vm/testing/foreign-changes.ts';
import { desiredVm } from '../../src/provider/kinds/vm/desired.ts';
import { USER_ATTRIBUTES } from '../../src/provider/kinds/vm/schema.ts';
import { driftWorld, VM_SITES } from '../simulation/engine/support/drift-world.ts';
import { isStored } from '../simulation/engine/support/foreign-edit.ts';
import { atMostEach, byDepth } from '../support/depth.ts';
import { complete, hasErrors, type Outcome } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';
import { configOf } from './support/written.ts';

/** Of each template; what another client changes is tried field by field, which takes longer. */
const SAMPLES = { empty: byDepth(2, 25), foreign: byDepth(2, 6) };
const PCI_MAPPINGS = new Map([['0000:01:00', 'card']]);
const COMPUTED = /^(all_disks|all_nics|macs|addresses|primary_address|restart_pending|secrets_digest|status)$/;

/** The simulated host has no such device plugged in. */
function startable(fields: VmFields): VmFields {
  const { usb, pci, extra, kvm, boot, ...rest } = fields;
  const devices = boot?.filter((device) => !/^(usb|hostpci)/.test(device)) ?? [];
  return { ...rest, power: 'running', ...(devices.length > 0 && { boot: devices }) };
}

/** The generator does not know the rules between fields, so only what they accept is a sample. */
const isAccepted = (fields: VmFields) => resolved(configOf(fields)).problems.length === 0;

const resolved = (config: ReturnType<typeof configOf>) => desiredVm(complete(USER_ATTRIBUTES, config), false);

function samples(seed: number, count: number) {
  return VM_SITES.flatMap((site) =>
    fc.sample(vmFieldsArbitrary(site).filter(isAccepted), { numRuns: count, seed }).map((fields, index) => ({
      name: `${site.template ?? 'from nothing'} ${index}`,
      fields: index % 2 === 0 ? { ...fields, power: 'stopped' as const } : startable(fields),
    })),
  );
}

/** The same field in many VMs shows the same again and again. */
const TRIES_PER_FIELD = byDepth(1, 3);
const fieldOf = (path: string) => path.replace(/\d+/g, '*');

/** Its digest is slow on purpose, and a password cannot be read back anyway. */
function withoutPassword(fields: VmFields): VmFields {
  const { password: _, ...cloudInit } = fields.cloud_init ?? {};
  return fields.cloud_init ? { ...fields, cloud_init: cloudInit } : fields;
}

const problemsOf = ({ diagnostics }: Outcome) =>
  diagnostics.filter(({ severity }) => severity === 'error').map(({ summary, detail }) => `${summary}: ${detail}`);

describe('a VM that Terraform applied', () => {
  it('has an empty plan in the next process, stopped or running', async () => {
    const failures: string[] = [];
    for (const { name, fields } of samples(21, SAMPLES.empty)) {
      const config = configOf(fields);
      const bench = new VmBench({ world: driftWorld });
      await bench.run(async () => {
        const first = bench.process();
        const made = await first.host.apply(config);
        if (hasErrors(made.diagnostics)) {
          failures.push(`${name}: ${problemsOf(made)}`);
          return;
        }
        const { host } = bench.process();
        host.instance = first.host.instance;
        const second = await host.plan(config);
        if (second.action !== 'none' || hasErrors(second.diagnostics)) {
          failures.push(`${name}: ${second.action} ${second.changed} ${problemsOf(second)}`);
        }
      });
    }
    expect(failures).toEqual([]);
  });

  it('shows exactly what another client changed', async () => {
    const failures: string[] = [];
    let changes = 0;
    const isTried = atMostEach(TRIES_PER_FIELD);
    for (const { name, fields } of samples(22, SAMPLES.foreign).filter((sample) => sample.fields.power === 'stopped')) {
      const config = configOf(withoutPassword(fields));
      const { vm: declared } = resolved(config);
      const bench = new VmBench({ world: driftWorld });
      await bench.run(async () => {
        const first = bench.process();
        await first.host.apply(config);
        const vm = bench.world.vms.get(Number(first.host.state.vmid));
        if (!vm) throw new Error(`${name} was not made`);
        const before = vm.config;
        const desired = desiredConfig(declared.fields, { pciMappings: PCI_MAPPINGS });
        for (const { path, values } of foreignChanges(desired, before.current)) {
          // The ownership line is ours, not the configuration's.
          if (path === 'ownership' || !isStored(vm, values)) continue;
          if (!isTried(fieldOf(path))) {
            vm.config = before;
            continue;
          }
          const { host } = bench.process({ planChecks: 'off' });
          host.instance = first.host.instance;
          const { changed } = await host.plan(config);
          const shown = changed.filter((each) => !(each.split('.')[0] ?? '').match(COMPUTED));
          const isIt = (each: string) => each === path || each.startsWith(`${path}.`) || path.startsWith(`${each}.`);
          if (shown.length === 0 || !shown.every(isIt)) failures.push(`${name}: ${path} changed, found ${shown}`);
          changes++;
          vm.config = before;
        }
      });
    }
    process.stdout.write(`${changes} foreign changes behind Terraform's back\n`);
    expect(failures.slice(0, 20)).toEqual([]);
    expect(changes).toBeGreaterThan(byDepth(10, 200));
  });
});
