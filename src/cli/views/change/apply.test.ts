import { expect, it } from 'vitest';
import { testDeps } from '../../testing/deps.ts';
import { address } from '../../testing/plans.ts';
import { Timeline } from '../run/timeline.ts';
import { applyView } from './apply.ts';

it('names new and old members of an unfinished roll, and the whole command that continues it', () => {
  const { deps, warnings } = testDeps();
  const roll = {
    group: 'vm.web',
    changed: [address('vm.web[1]')],
    failed: [address('vm.web[2]')],
    unchanged: [address('vm.web[3]')],
    again: ['--replace', 'vm.web[3]'],
  };
  applyView(deps).concluded({
    command: 'apply',
    code: 1,
    outcomes: new Map(),
    problems: new Map(),
    tookMs: 1_000,
    timeline: new Timeline([]),
    restartPending: [],
    rolls: [roll],
    resume: ['apply', '--file', 'lab.yaml', '--var', 'release=…', '--replace', 'vm.web[3]'],
    vms: [],
    recorded: {},
  });
  expect(warnings[0]).toBe(
    "vm.web is partly changed. Changed and ready: vm.web[1]; not finished: vm.web[2]; unchanged: vm.web[3]. To continue: proxwright apply --file lab.yaml --var release=… --replace 'vm.web[3]'",
  );
});

it('names the whole command that resumes a single VM, which is not partly changed', () => {
  const { deps, warnings, errors } = testDeps();
  const db = address('vm.db');
  applyView(deps).concluded({
    command: 'apply',
    code: 1,
    outcomes: new Map([[db, 'failed']]),
    problems: new Map(),
    tookMs: 1_000,
    timeline: new Timeline([]),
    restartPending: [],
    rolls: [{ group: 'vm.db', changed: [], failed: [db], unchanged: [], again: ['--allow-restart'] }],
    resume: ['apply', '--only', 'vm.db[1]', '--allow-restart'],
    vms: [],
    recorded: {},
  });
  expect(warnings).toEqual([]);
  expect(errors.at(-1)).toContain("run proxwright apply --only 'vm.db[1]' --allow-restart again to resume");
});
