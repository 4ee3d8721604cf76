import { describe, expect, it } from 'vitest';
import type { Address } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { PlanResult } from '../../plan.ts';
import type { RightsSeen } from '../examination.ts';
import { stackFrom, WEB } from '../testing/patient.ts';
import { checkPlan, checkPrivileges, checkReadings } from './plan.ts';

const missing = new ProxwrightError({
  code: 'PRIVILEGE_MISSING',
  detail: 'prov@pve!tok may not do all that this plan needs:\n  VM.Clone on /vms/9000, for clone.template',
  hint: { text: 'pveum role add A --privs "VM.Clone"\npveum acl modify /vms/9000 --roles A' },
}).diagnostic;
const warning: Diagnostic = {
  severity: 'warning',
  code: 'NOT_CHECKED',
  summary: '',
  detail: 'Tags could not be checked.',
};

function rights(
  part: Partial<Pick<RightsSeen, 'hasAny' | 'guesses'>> & { missing?: Diagnostic[]; notChecked?: Diagnostic[] } = {},
): RightsSeen {
  const because = [
    { where: { address: 'vm.web', field: 'startup', file: 'stack.yaml', line: 9 }, step: 'vm.configure' },
  ] as const;
  const strong = { privileges: ['Sys.Modify'], paths: [{ path: '/' }], because, strong: true } as const;
  const check = { missing: part.missing ?? [], notChecked: part.notChecked ?? [], requirements: [strong], gaps: [] };
  // Whoever judges does not ask again.
  return { check: { ...check, grants: undefined as never }, hasAny: true, basis: 'plan', guesses: [], ...part };
}

function planOf(steps: number, warnings: readonly Diagnostic[] = []): PlanResult {
  const step = {
    id: 'a',
    stage: 'create',
    address: 'vm.web' as Address,
    action: 'vm.clone',
    input: {},
    needs: [],
  } as const;
  return {
    ok: true,
    plan: {
      version: 1,
      stack: 'lab',
      createdAt: '',
      changes: [],
      steps: Array.from({ length: steps }, () => step),
      warnings,
      fingerprints: { stack: '', state: '', vms: {} },
    },
  };
}

describe('privileges', () => {
  const check = (seen: RightsSeen, result = planOf(1)) =>
    checkPrivileges({ rights: seen, principal: 'prov@pve!tok', result });

  it('that suffice are one line, with the strong ones and who asks for them', () => {
    expect(check(rights())).toMatchObject([
      { verdict: 'good', details: ['Sys.Modify on / is strong; startup (stack.yaml:9) asks for it'] },
    ]);
  });

  it('are not needed by a plan that has nothing to do', () => {
    expect(check(rights(), planOf(0))).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('needs nothing') },
    ]);
  });

  it('are not counted where no plan could be made', () => {
    const unknown = rights();
    const none = { ...unknown, check: { ...unknown.check, requirements: [] } };
    expect(check(none, { ok: false, problems: [] })).toEqual([]);
  });

  it('that are missing come with the lines that ask for them and the commands', () => {
    expect(check(rights({ missing: [missing], guesses: [{ template: 'debian', covers: ['bridges'] }] }))).toEqual([
      {
        check: 'privileges',
        verdict: 'bad',
        words: 'prov@pve!tok may not do all that this plan needs:',
        details: [
          'VM.Clone on /vms/9000, for clone.template',
          expect.stringContaining('Template debian could not be read'),
        ],
        remedy: missing.hint?.text,
      },
    ]);
  });

  it('of which there are none at all are said in one sentence', () => {
    const [found, ...others] = check(rights({ missing: [missing], hasAny: false }));
    expect(found?.words).toContain('prov@pve and its token both need entries');
    expect(found?.remedy).toBe(missing.hint?.text);
    expect(others).toEqual([]);
  });

  it('to look at something are told as not checked', () => {
    expect(checkReadings({ rights: rights({ notChecked: [warning] }) })).toMatchObject([{ verdict: 'unknown' }]);
  });
});

describe('the plan', () => {
  const stack = stackFrom(WEB);

  it('that can be made is well, and says what it could not check', () => {
    expect(checkPlan({ result: planOf(2, [warning]), rights: rights(), stack })).toMatchObject([
      { verdict: 'good', words: '1 VM, 2 steps: what the file names is there.' },
      { verdict: 'unknown', words: 'Tags could not be checked.' },
    ]);
  });

  it('that cannot be made tells every reason with its line', () => {
    const where = { file: 'stack.yaml', line: 7 };
    const absent = new ProxwrightError({
      code: 'MISSING_REFERENCE',
      detail: 'There is no node "a".',
      hint: 'b?',
      where,
    }).diagnostic;
    expect(checkPlan({ result: { ok: false, problems: [absent] }, rights: rights(), stack })).toMatchObject([
      { verdict: 'bad', words: 'There is no node "a".', remedy: 'b?', where },
    ]);
  });

  it('does not repeat that rights are missing, unless nobody else says it', () => {
    const result = { ok: false, problems: [missing] } as const;
    expect(checkPlan({ result, rights: rights({ missing: [missing] }), stack })).toMatchObject([
      { verdict: 'unknown' },
    ]);
    expect(checkPlan({ result, rights: rights(), stack })).toMatchObject([{ verdict: 'bad' }]);
  });
});
