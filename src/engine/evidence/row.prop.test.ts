import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { KnownSecrets, Secret } from '../../base/secret.ts';
import { evidenceRecord } from './record.ts';
import { appendedRow, evidenceRow } from './row.ts';
import { evidenceInput, stage, TASK_FAILED } from './testing/facts.ts';

/** Cells as a Markdown parser reads them: a backslash escapes the next character. */
function cellsOf(row: string): string[] {
  const cells: string[] = [];
  let present = '';
  for (let index = 1; index < row.length; index++) {
    const sign = row[index] ?? '';
    if (sign === '\\' && /[|\\]/.test(row[index + 1] ?? '')) present += row[++index] ?? '';
    else if (sign === '|') {
      cells.push(present);
      present = '';
    } else present += sign;
  }
  return cells;
}

const words = fc.string({ unit: fc.constantFrom('|', '\\', '\n', '\r', '`', ' ', 'a', '•') });

describe('an evidence row', () => {
  it('has six cells on one line for any text', () => {
    fc.assert(
      fc.property(words, words, words, (task, note, typed) => {
        const row = evidenceRow(evidenceRecord(evidenceInput({ task: `t${task}t`, note, typed })));
        expect(row).not.toMatch(/[\r\n]/);
        expect(cellsOf(row)).toHaveLength(6);
      }),
    );
  });

  it('renders foreign text as text: no tag, comment, code, link or picture', () => {
    const signs = fc.string({ unit: fc.constantFrom('<', '!', '-', '\\', '[', ']', '(', ')', '`', '|', 'a') });
    const foreign = fc.oneof(signs, fc.constantFrom('<!--', '<img src=x>', '![a](b)', '\\<a', '\\\\<a', '\\`a`'));
    fc.assert(
      fc.property(foreign, (words) => {
        const problem: Diagnostic = { ...TASK_FAILED, facts: { serverSaid: words } };
        const row = evidenceRow(
          evidenceRecord(evidenceInput({ isComplete: false, stages: [stage('apply', 'failed', 1, [problem])] })),
        );
        const notes = row.split(' | ').slice(5).join(' | ');
        expect(notes).toContain('TASK_FAILED');
        // Escaped characters are text.
        const active = notes.replace(/\\[!-/:-@[-`{-~]/g, '_');
        expect(active).not.toMatch(/[<`]|\]\(/);
      }),
    );
  });

  it('keeps the previous content of the file', () => {
    const row = evidenceRow(evidenceRecord(evidenceInput()));
    const line = fc.constantFrom('', '# Title', '| a | b |', row, '| --- |', 'text');
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom('', '\n', '\r\n'), (lines, end) => {
        const present = `${lines.join('\n')}${end}`;
        const text = `${present}${appendedRow(present, row)}`;
        expect(text.startsWith(present)).toBe(true);
        expect(text.endsWith(`\n${row}\n`)).toBe(true);
        expect(appendedRow(text, row)).toBe(`${row}\n`);
      }),
    );
  });
});

describe('a redacted record', () => {
  it('contains no secret in any text, and is otherwise the same', () => {
    const secret = new Secret('hunter22');
    const record = evidenceRecord(evidenceInput({ note: 'it was hunter22', task: 'a "hunter22"' }));
    const text = JSON.stringify(new KnownSecrets([secret]).redactIn(record));
    expect(text).not.toContain('hunter22');
    expect(text.replaceAll('•••', 'hunter22')).toBe(JSON.stringify(record));
  });
});
