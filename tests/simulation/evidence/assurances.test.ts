/** What commands say of VMs that are not as the last apply left them: pending restarts, power, and VMs of others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApply } from '../../../src/cli/commands/change/apply.ts';
import { runPlan } from '../../../src/cli/commands/change/plan.ts';
import { runDrift } from '../../../src/cli/commands/check/drift.ts';
import { runVerify } from '../../../src/cli/commands/check/verify.ts';
import { type Bench, openBench } from '../support/command-bench.ts';

const stack = (memory: string) => `
version: 1
stack: assured
vms:
  web:
    count: 3
    name: web-\${number}
    node: pve1
    vmids: 401-409
    clone: { template: ubuntu-24.04, mode: linked }
    memory: ${memory}
`;

let bench: Bench;

beforeAll(async () => {
  bench = await openBench(stack('2GiB'));
  const { code, said } = await bench.run((deps) => runApply(undefined, { yes: true }, deps));
  expect(code, said).toBe(0);
});

afterAll(() => bench.close());

const plan = () => bench.run((deps) => runPlan({}, deps));
const verify = () => bench.run((deps) => runVerify({}, deps));
const drift = (exitCode = true) => bench.run((deps) => runDrift({ exitCode }, deps));
const vm = (vmid: number) => bench.outside.node('pve1').vm(vmid);

describe('a restart that is pending', () => {
  const PENDING = 'Restart pending: vm.web[1] (memory), vm.web[2] (memory), vm.web[3] (memory).';

  it('is part of what apply, plan, verify and the evidence say', async () => {
    bench.write('stack.yaml', stack('3GiB'));
    const applied = await bench.run((deps) => runApply(undefined, { yes: true }, deps));
    expect(applied.code).toBe(0);
    expect(applied.said).toContain(`Applied: 3 VMs in`);
    expect(applied.said).toContain(PENDING);
    expect((await plan()).out).toContain(`No changes. ${PENDING}`);
    const restarting = await bench.run((deps) => runPlan({ allowRestart: true }, deps));
    expect(restarting.out).toContain('A restart is still due, for memory.');
    const verified = await verify();
    expect(verified.code, verified.said).toBe(0);
    expect(verified.said).toContain(`Verified: 3 VMs match the file. ${PENDING}`);
    expect(bench.read('evidence.md')).toContain('plan empty; restart pending: vm.web[1] (memory)');
  });

  it('is in the JSON of apply and verify', async () => {
    bench.write('stack.yaml', stack('4GiB'));
    const applied = await bench.run((deps) => runApply(undefined, { yes: true }, deps), { json: true });
    const result = applied.out
      .split('\n')
      .map((line) => JSON.parse(line))
      .find(({ type }) => type === 'result');
    expect(result.restartPending).toEqual(['vm.web[1] (memory)', 'vm.web[2] (memory)', 'vm.web[3] (memory)']);
  });

  it('is not announced where only the pending value was changed outside', async () => {
    await bench.outside.tasks.wait(await vm(403).status.stop());
    await bench.outside.tasks.wait(await vm(403).status.start());
    await vm(403).config.put({ memory: 8192 });
    const { out } = await plan();
    expect(out).toContain('memory  8GiB → 4GiB  [changed outside Proxwright, live]');
    expect(out).not.toContain('vm.web[3] (memory)');
    await bench.run((deps) => runApply(undefined, { yes: true }, deps));
    expect((await plan()).out).not.toContain('vm.web[3]');
  });
});

describe('a VM that was shut down outside', () => {
  it('is drift, and fails the verification', async () => {
    await bench.outside.tasks.wait(await vm(402).status.stop());
    const drifted = await drift();
    expect(drifted.code).toBe(2);
    expect(drifted.out).toContain('! vm.web[2]');
    expect(drifted.out).toMatch(/power {2}stopped {2}\(applied: running; an apply leaves it unchanged\)/);
    expect(drifted.out).not.toContain('To correct this');
    const verified = await verify();
    expect(verified.code).toBe(1);
    expect(verified.said).toContain('Switched outside Proxwright: vm.web[2] is stopped.');
    const planned = (await plan()).out;
    expect(planned).toContain('it is stopped, changed outside Proxwright');
    expect(planned).toContain('Its settings match the file.');
    await bench.outside.tasks.wait(await vm(402).status.start());
    expect((await verify()).code).toBe(0);
    expect((await drift()).code).toBe(0);
  });
});

describe('a VM that was moved outside', () => {
  it('is drift, which an apply leaves alone', async () => {
    const pve2 = bench.outside.node('pve2').vm(403);
    const offline = { online: false, 'with-local-disks': true };
    await bench.outside.tasks.wait(await vm(403).status.stop());
    await bench.outside.tasks.wait(await vm(403).migrate({ target: 'pve2', ...offline }));
    expect((await drift()).out).toMatch(/node +pve2 {2}\(applied: pve1; an apply leaves it unchanged\)/);
    await bench.outside.tasks.wait(await pve2.migrate({ target: 'pve1', ...offline }));
    await bench.outside.tasks.wait(await vm(403).status.start());
    expect((await drift()).code).toBe(0);
  });
});

describe('an id that another VM has', () => {
  it('does not keep drift from reporting all other VMs, and names the other VM and its owner', async () => {
    await vm(402).config.put({ memory: 8192 });
    await bench.outside.tasks.wait(await vm(401).status.stop());
    await bench.outside.tasks.wait(await vm(401).destroy({ purge: true }));
    const line = 'proxwright: stack=other address=vm.db vmid=401 uuid=1';
    const made = await bench.outside.node('pve1').vms.create({ vmid: 401, name: 'somebody', description: line });
    await bench.outside.tasks.wait(made);
    const { code, out, said } = await drift();
    expect(code).toBe(1);
    expect(said).toContain('VM 401 on pve1 ("somebody") is another VM');
    expect(said).toContain(`Its notes say: "${line}".`);
    expect(said).toContain("proxwright state forget 'vm.web[1]'");
    expect(out).toContain('! vm.web[2]');
    expect(out).toMatch(/memory {2}8GiB {2}\(applied: 4GiB\)/);
  });
});
