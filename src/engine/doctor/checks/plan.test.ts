import { describe, expect, it } from 'vitest';
import type { Address } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { stackFrom, WEB } from '../../../kinds/vm/doctor/testing/patient.ts';
import type { PlanResult } from '../../plan.ts';
import type { ObservedRights } from '../examination.ts';
import { checkPlan, checkPrivileges, checkReadings } from './plan.ts';

const missing = new ProxwrightError({
  code: 'PRIVILEGE_MISSING',
  detail: 'prov@pve!tok lacks privileges that this plan needs:\n  VM.Clone on /vms/9000, for clone.template',
  hint: { text: 'pveum role add A --privs "VM.Clone"\npveum acl modify /vms/9000 --roles A' },
}).diagnostic;
const warning: Diagnostic = {
  severity: 'warning',
  code: 'NOT_CHECKED',
  summary: '',
  detail: 'Tags could not be checked.',
};

function rights(
  part: Partial<Pick<ObservedRights, 'hasAny' | 'guesses'>> & {
    missing?: Diagnostic[];
    notChecked?: Diagnostic[];
  } = {},
): ObservedRights {
  const because = [
    { where: { address: 'vm.web', field: 'startup', file: 'stack.yaml', line: 9 }, step: 'vm.configure' },
  ] as const;
  const strong = { privileges: ['Sys.Modify'], paths: [{ path: '/' }], because, strong: true } as const;
  const check = { missing: part.missing ?? [], notChecked: part.notChecked ?? [], requirements: [strong], gaps: [] };
  // A check judges what was read and asks nothing again.
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

describe('the privilege check', () => {
  const check = (seen: ObservedRights, result = planOf(1)) =>
    checkPrivileges({ rights: seen, principal: 'prov@pve!tok', result });

  it('names strong privileges and the fields that need them', () => {
    expect(check(rights())).toMatchObject([
      { verdict: 'good', details: ['Sys.Modify on / is a strong privilege; startup (stack.yaml:9) needs it'] },
    ]);
  });

  it('needs nothing for an empty plan', () => {
    expect(check(rights(), planOf(0))).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('needs no privileges') },
    ]);
  });

  it('counts nothing without a plan', () => {
    const unknown = rights();
    const none = { ...unknown, check: { ...unknown.check, requirements: [] } };
    expect(check(none, { ok: false, problems: [] })).toEqual([]);
  });

  it('reports missing privileges with the lines that need them and the commands', () => {
    expect(check(rights({ missing: [missing], guesses: ['Template debian could not be read.'] }))).toEqual([
      {
        check: 'privileges',
        verdict: 'bad',
        words: 'prov@pve!tok lacks privileges that this plan needs:',
        details: ['VM.Clone on /vms/9000, for clone.template', 'Template debian could not be read.'],
        remedy: missing.hint?.text,
      },
    ]);
  });

  it('reports a token without any privilege in one sentence', () => {
    const [found, ...others] = check(rights({ missing: [missing], hasAny: false }));
    expect(found?.words).toContain('prov@pve and its token both need ACL entries');
    expect(found?.remedy).toBe(missing.hint?.text);
    expect(others).toEqual([]);
  });

  it('reports what it may not read as not checked', () => {
    expect(checkReadings({ rights: rights({ notChecked: [warning] }) })).toMatchObject([{ verdict: 'unknown' }]);
  });
});

describe('the plan check', () => {
  const stack = stackFrom(WEB);

  it('accepts a plan, and lists what was not checked', () => {
    expect(checkPlan({ result: planOf(2, [warning]), rights: rights(), stack })).toMatchObject([
      { verdict: 'good', words: '1 VM, 2 steps: everything that the file refers to exists.' },
      { verdict: 'unknown', words: 'Tags could not be checked.' },
    ]);
  });

  it('reports every problem with its line', () => {
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

  it('repeats missing privileges only if no other check reports them', () => {
    const result = { ok: false, problems: [missing] } as const;
    expect(checkPlan({ result, rights: rights({ missing: [missing] }), stack })).toMatchObject([
      { verdict: 'unknown' },
    ]);
    expect(checkPlan({ result, rights: rights(), stack })).toMatchObject([{ verdict: 'bad' }]);
  });
});
