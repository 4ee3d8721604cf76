import { describe, expect, it } from 'vitest';
import { paintFor, plainPaint } from './paint.ts';
import { renderTable } from './table.ts';

const HEAD = ['address', 'uuid', 'in the cluster'];
const ROWS = [['vm.web', '0f0c1f0e-5b1a-4c2e-9d3f-0123456789ab', 'changed outside Proxwright']];
const terminal = (columns: number) => paintFor({ write: () => true, isTTY: true, columns, hasColors: () => false });

describe('a table', () => {
  it('is as wide as it needs to be in a file or a pipe', () => {
    expect(renderTable(HEAD, ROWS, plainPaint)[1]).toBe(
      'vm.web   0f0c1f0e-5b1a-4c2e-9d3f-0123456789ab  changed outside Proxwright',
    );
    expect(renderTable(HEAD, ROWS, paintFor({ write: () => true, columns: 20 }))[1]).toContain('0123456789ab');
  });

  it('fits the terminal: sentences continue below, a word that is too long is cut', () => {
    expect(renderTable(HEAD, ROWS, terminal(50))).toEqual([
      'address  uuid                 in the cluster',
      'vm.web   0f0c1f0e-5b1a-4c2e…  changed outside',
      '                              Proxwright',
    ]);
  });

  it('keeps the first column whole as long as the others can be narrower', () => {
    const head = ['run', 'began', 'command'];
    const rows = [
      ['20261118T082627Z-52db35', '2026-11-18T08:26:28Z', 'apply'],
      ['20261118T082641Z-4b7b03', '2026-11-18T08:26:42Z', 'apply'],
    ];
    const [, one, other] = renderTable(head, rows, terminal(45));
    expect(one).toBe('20261118T082627Z-52db35  2026-11-18…  apply');
    expect(other).toContain('20261118T082641Z-4b7b03');
    expect(renderTable(head, rows, terminal(30))[1]).toBe('20261118T0…  2026-11…  apply');
  });

  it.each([200, 80, 60, 40])('stays within %d columns', (columns) => {
    for (const line of renderTable(HEAD, ROWS, terminal(columns))) expect(line.length).toBeLessThanOrEqual(columns);
  });
});
