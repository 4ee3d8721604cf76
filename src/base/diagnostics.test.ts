import { describe, expect, it } from 'vitest';
import { type Diagnostic, foldDiagnostics, formatDiagnostic } from './diagnostics.ts';

function missing(address: string, part: Partial<Diagnostic> = {}): Diagnostic {
  return {
    severity: 'error',
    code: 'MISSING_REFERENCE',
    summary: 'Missing reference',
    detail: 'Node pve1 has no storage "tank".',
    where: { file: 'stack.yaml', line: 8, column: 47, address },
    ...part,
  };
}

const web = (count: number) => Array.from({ length: count }, (_, n) => missing(`vm.web[${n + 1}]`));

describe('the same problem of many VMs', () => {
  it('becomes one, which names the first and counts the others', () => {
    const folded = foldDiagnostics(web(50));
    expect(folded.map(formatDiagnostic)).toEqual([
      [
        'error: Missing reference [MISSING_REFERENCE]',
        '  at stack.yaml:8:47 — vm.web[1], vm.web[2], vm.web[3] and 47 more',
        '  Node pve1 has no storage "tank".',
      ].join('\n'),
    ]);
  });

  it('lists a few completely', () => {
    expect(foldDiagnostics(web(2))[0]?.where?.address).toBe('vm.web[1], vm.web[2]');
  });

  it('is recognised although its text names the VM', () => {
    const about = (address: string) => missing(address, { detail: `${address} needs a storage.` });
    expect(foldDiagnostics([about('vm.a'), about('vm.b')])).toHaveLength(1);
  });

  it.each<[string, Partial<Diagnostic>]>([
    ['another text', { detail: 'Node pve2 has no storage "tank".' }],
    ['another line', { where: { file: 'stack.yaml', line: 9, column: 1, address: 'vm.db' } }],
    ['another code', { code: 'BAD_VALUE' }],
    ['another severity', { severity: 'warning' }],
    ['another hint', { hint: { text: 'Correct the name.' } }],
  ])('stays apart from one with %s', (_, part) => {
    expect(foldDiagnostics([missing('vm.web'), missing('vm.db', part)])).toHaveLength(2);
  });
});
