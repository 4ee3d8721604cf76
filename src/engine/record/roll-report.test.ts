import { describe, expect, it } from 'vitest';
import { toAddress } from '../../base/address.ts';
import { rollsOf } from '../../kinds/change.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import { argumentsOfAll, isPartial, unfinishedRolls } from './roll-report.ts';

const members = ['vm.web[1]', 'vm.web[2]', 'vm.web[3]', 'vm.web[4]'].flatMap((text) => toAddress(text) ?? []);

function report(
  outcomes: Readonly<Record<string, ResourceOutcome>>,
  begun: string[],
  again: (member: string) => string[],
) {
  const steps = members.map((address) => ({
    id: `${address}/restart`,
    address,
    action: 'vm.restart',
    stage: 'configure' as const,
    input: {},
    needs: [],
    outage: {
      group: 'vm.web',
      atMost: 1,
      size: 4,
      pauseMs: 0,
      onFailure: 'stop' as const,
      again: again(address),
    },
  }));
  return unfinishedRolls(rollsOf(steps), new Map(Object.entries(outcomes)), new Set(begun));
}

const replaced = (member: string) => ['--replace', member];
const restarted = () => ['--allow-restart'];

describe('an unfinished roll', () => {
  it('distinguishes members that were waiting for their turn from one that was begun', () => {
    const outcomes = {
      'vm.web[1]': 'done',
      'vm.web[2]': 'canceled',
      'vm.web[3]': 'canceled',
      'vm.web[4]': 'canceled',
    } as const;
    expect(report(outcomes, ['vm.web[1]', 'vm.web[2]'], () => [])).toEqual([
      {
        group: 'vm.web',
        changed: ['vm.web[1]'],
        failed: ['vm.web[2]'],
        unchanged: ['vm.web[3]', 'vm.web[4]'],
        again: [],
      },
    ]);
  });

  it('repeats the replacement only of those that were not begun', () => {
    const outcomes = { 'vm.web[1]': 'done', 'vm.web[2]': 'notReady', 'vm.web[3]': 'skipped' } as const;
    expect(report(outcomes, ['vm.web[1]', 'vm.web[2]'], replaced)[0]?.again).toEqual([
      '--replace',
      'vm.web[3]',
      '--replace',
      'vm.web[4]',
    ]);
  });

  it('repeats --allow-restart once, even if only the begun member is left', () => {
    const most = { 'vm.web[1]': 'done', 'vm.web[2]': 'failed' } as const;
    expect(report(most, ['vm.web[1]', 'vm.web[2]'], restarted)[0]?.again).toEqual(['--allow-restart']);
    const last = { ...most, 'vm.web[3]': 'done', 'vm.web[4]': 'done' } as const;
    expect(report(last, members, restarted)[0]?.again).toEqual(['--allow-restart']);
  });
});

it('a finished roll has no report', () => {
  expect(report(Object.fromEntries(members.map((each) => [each, 'done'])), members, restarted)).toEqual([]);
});

it('the arguments of all unfinished rolls name --allow-restart once, and a single VM is not partly changed', () => {
  const part = { group: 'vm.web', changed: [], failed: members.slice(0, 1), unchanged: [] };
  const restarting = { ...part, again: ['--allow-restart'] };
  const replacing = { ...part, unchanged: members.slice(1, 2), again: ['--replace', 'vm.db', '--allow-restart'] };
  expect(argumentsOfAll([restarting, replacing])).toEqual(['--replace', 'vm.db', '--allow-restart']);
  expect([restarting, replacing].map(isPartial)).toEqual([false, true]);
});
