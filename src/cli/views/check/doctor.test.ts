import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../kinds/doctor/finding.ts';
import { paintFor, plainPaint } from '../text/paint.ts';
import { renderFindings } from './doctor.ts';

const GOOD: Finding = { check: 'version', verdict: 'good', words: 'Proxmox VE 9.2.' };
const BAD: Finding = {
  check: 'template',
  verdict: 'bad',
  words: 'It has no disk.',
  details: ['It had one.'],
  remedy: 'first\nthen',
  where: { file: 'stack.yaml', line: 3, column: 1 },
};
const UNKNOWN: Finding = { check: 'quorum', verdict: 'unknown', words: 'Quorum: not checked.' };
const WARNING: Finding = { check: 'neighbours', verdict: 'warning', words: 'The same name.' };

describe('the findings of the doctor', () => {
  it('have a mark, a title, a sentence, and the remedy below it', () => {
    expect(renderFindings([GOOD, BAD, UNKNOWN, WARNING], plainPaint)).toEqual([
      '✓ version      Proxmox VE 9.2.',
      '✗ template     It has no disk. (stack.yaml:3)',
      '               It had one.',
      '               → first',
      '                 then',
      '! quorum       Quorum: not checked.',
      '! other VMs    The same name.',
      '',
      '1 problem, 1 warning, 1 not checked.',
    ]);
  });

  it('put a title above commands for an administrator, so that they can be copied', () => {
    const script: Finding = { ...GOOD, verdict: 'bad', remedy: 'pveum role add A\npveum acl modify / --roles A' };
    expect(renderFindings([script], plainPaint).slice(1, 4)).toEqual([
      '               → Run as root on a node:',
      '                 pveum role add A',
      '                 pveum acl modify / --roles A',
    ]);
  });

  it('say that the stack is ready to apply if no finding is bad', () => {
    expect(renderFindings([GOOD], plainPaint).at(-1)).toBe('Ready to apply.');
    expect(renderFindings([GOOD, UNKNOWN], plainPaint).at(-1)).toBe('Ready to apply; 1 not checked.');
  });

  it('break lines between words on a terminal of 80 columns, and never inside a command', () => {
    const words =
      'Matches the pinned fingerprint. Update the fingerprint when the certificate of the server is renewed.';
    const remedy =
      'pveum acl modify /sdn/zones/localnetwork --tokens "deploy@pve!proxwright" --roles ProxwrightNetwork';
    const paint = paintFor({ write: () => true, isTTY: true, columns: 80, hasColors: () => false });
    const finding: Finding = { check: 'certificate', verdict: 'bad', words, details: [words], remedy };
    const lines = renderFindings([finding], paint);
    expect(lines.slice(0, 2)).toEqual([
      '✗ certificate  Matches the pinned fingerprint. Update the fingerprint when the',
      '               certificate of the server is renewed.',
    ]);
    expect(lines).toContain(`                 ${remedy}`);
    expect(lines.filter((line) => line.length > 80)).toHaveLength(1);
  });
});
