import { describe, expect, it } from 'vitest';
import { resumeOf } from './asked-plan.ts';

describe('the command that resumes what the user asked for', () => {
  const outcomes = new Map([
    ['vm.web[1]', 'done'],
    ['vm.web[2]', 'failed'],
    ['vm.web[3]', 'skipped'],
  ] as const);

  it('is the same one for a move, which leaves alone what has moved', () => {
    const options = { only: ['vm.web'], allowRestart: true, targetStorage: 'ceph', yes: true };
    expect(resumeOf({ typed: 'drain pve1' }, options, { outcomes }).join(' ')).toBe(
      'drain pve1 --only vm.web --allow-restart --target-storage ceph',
    );
  });

  it('leaves out the members that a rollback has finished: what they wrote since would be lost', () => {
    expect(resumeOf({ typed: 'rollback s1', repeats: true }, { only: ['vm.web'] }, { outcomes }).join(' ')).toBe(
      'rollback s1 --only vm.web[2] --only vm.web[3]',
    );
  });
});
