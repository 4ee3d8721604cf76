/** The last line of a run that failed: the command that it names resumes it, and does nothing else. */
import { afterEach, expect, it } from 'vitest';
import { runApply } from '../../../src/cli/commands/change/apply.ts';
import { runDestroy } from '../../../src/cli/commands/change/destroy.ts';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { type Bench, openBench } from '../support/command-bench.ts';

const STACK = `
version: 1
stack: resumed
vms:
  web: { name: web, node: pve1, vmid: 401, clone: { template: ubuntu-24.04, mode: linked } }
`;
const shutdown: FaultRuleInput = { kind: 'task-fail', match: { task: 'qmshutdown' }, percent: 0, times: 99 };
const clone: FaultRuleInput = { kind: 'task-fail', match: { task: 'qmclone' }, percent: 0, at: 2, times: 99 };

let bench: Bench;
afterEach(() => bench.close());

const apply = (options: { readonly replace?: readonly string[] } = {}) =>
  bench.run((deps) => runApply(undefined, { yes: true, file: 'stack.yaml', ...options }, deps));

it('repeats --replace for a VM that still stands', async () => {
  bench = await openBench(STACK, [shutdown]);
  expect((await apply()).code).toBe(0);
  const { code, said } = await apply({ replace: ['vm.web'] });
  expect(code).toBe(1);
  expect(said).toContain('run proxwright apply --file stack.yaml --replace vm.web again to resume.');
});

it('leaves --replace out once the old VM is gone: the new one would be destroyed', async () => {
  bench = await openBench(STACK, [clone]);
  expect((await apply()).code).toBe(0);
  const { code, said } = await apply({ replace: ['vm.web'] });
  expect(code).toBe(1);
  expect(said).toContain('run proxwright apply --file stack.yaml again to resume.');
});

it('advises --stop only to a destroy without it', async () => {
  bench = await openBench(STACK, [shutdown, { ...shutdown, match: { task: 'qmstop' } }]);
  expect((await apply()).code).toBe(0);
  const destroy = (stop: boolean) => bench.run((deps) => runDestroy({ yes: true, stop }, deps));
  expect((await destroy(false)).said).toContain('run proxwright destroy again to resume, and add --stop');
  expect((await destroy(true)).said).toMatch(/again to resume\.\n/);
});
