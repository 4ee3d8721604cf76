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

  it.each([200, 80, 60, 40])('stays within %d columns', (columns) => {
    for (const line of renderTable(HEAD, ROWS, terminal(columns))) expect(line.length).toBeLessThanOrEqual(columns);
  });
});
