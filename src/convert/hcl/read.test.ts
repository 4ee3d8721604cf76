// biome-ignore-all lint/suspicious/noTemplateCurlyInString: interpolations of HCL are written like this
/**
 * The reader keeps every byte: a file printed from its tree, node by node, is the file. What is between nodes is only white
 * space, comments and punctuation, so no expression is lost.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBody, readExpressionText } from './read.ts';
import { attributeOf, type Expression } from './syntax.ts';
import { anyFile } from './testing/arbitrary-file.ts';
import { printed } from './testing/printed.ts';

const value = (text: string): Expression => {
  const { kind, ...rest } = attributeOf(readBody(`a = ${text}\n`, 'main.tf'), 'a')?.value ?? { kind: 'literal' };
  return { kind, ...rest } as Expression;
};

describe('reading HCL', () => {
  it('returns every byte of any file', () => {
    fc.assert(
      fc.property(anyFile, (text) => {
        expect(printed(text, readBody(text, 'main.tf'))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a byte order mark, carriage returns, and comments of every kind', () => {
    const text = '\u{FEFF}# one\r\na = 1 // two\r\nb "x" y { /* three\r\n */ }\r\n';
    expect(printed(text, readBody(text, 'main.tf'))).toBe(text);
  });

  it('knows where blocks, labels and values are', () => {
    const text = 'resource "proxmox_vm_qemu" "web" {\n  memory = 2048 # MiB\n}\n';
    const [block] = readBody(text, 'main.tf').items;
    if (block?.kind !== 'block') throw new Error('no block');
    expect(block.labels.map((label) => text.slice(label.start, label.end))).toEqual(['"proxmox_vm_qemu"', '"web"']);
    const memory = attributeOf(block.body, 'memory');
    expect(text.slice(memory?.value.start, memory?.value.end)).toBe('2048');
  });

  it.each([
    ['1 + 2 * 3', 'operation'],
    ['var.a ? "x" : null', 'conditional'],
    ['[for k, v in var.m : k if v != null]', 'for'],
    ['{ for k, v in var.m : k => v... }', 'for'],
    ['values(a.b)[*].c', 'access'],
    ['a.b.*.c.0', 'access'],
    ['"${a}-%{ if b }x%{ endif }"', 'template'],
    ['provider::x::f(1)', 'call'],
    ['(\n  1 +\n  2\n)', 'parentheses'],
    ['f(a...)', 'call'],
    ['-1', 'operation'],
  ])('reads %s as a %s', (text, kind) => {
    expect(value(text).kind).toBe(kind);
  });

  it.each([
    ['"a\\tb \\"c\\" $${d} %%{e}"', 'a\tb "c" ${d} %{e}'],
    ['<<EOT\n  one\n two\nEOT', '  one\n two\n'],
    ['<<-EOT\n    one\n\n      two\n    EOT', 'one\n\n  two\n'],
    ['"\\u00e9"', 'é'],
  ])('reads the text of %s', (text, expected) => {
    expect(value(text)).toMatchObject({ kind: 'literal', value: expected });
  });

  it('reads a heredoc with interpolations inside a list', () => {
    expect(readExpressionText('[<<EOT\nhello ${var.name}\nEOT\n, 2]', 'main.tf')).toMatchObject({
      kind: 'list',
      items: [{ kind: 'template' }, { value: 2 }],
    });
  });

  it.each([
    ['a = ', 1, 5],
    ['a = 1 b = 2', 1, 7],
    ['x {\n  a = [1 2]\n}', 2, 10],
    ['a = "b', 1, 7],
    ['x {', 1, 4],
    ['a = <<EOT\nno end\n', 3, 1],
    ['/* no end', 1, 1],
  ])('says where %j is wrong', (text, line, column) => {
    expect(() => readBody(text, 'main.tf')).toThrow(
      expect.objectContaining({ diagnostic: expect.objectContaining({ where: { file: 'main.tf', line, column } }) }),
    );
  });

  it('refuses a file that nests too deeply', () => {
    expect(() => readBody(`a = ${'('.repeat(5000)}`, 'main.tf')).toThrow(/at most/);
    expect(() => readBody('a {\n'.repeat(5000), 'main.tf')).toThrow(/at most/);
  });
});
