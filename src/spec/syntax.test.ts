// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in stack files are written like this
import { describe, expect, it } from 'vitest';
import { loadStack } from './load.ts';

const problems = (text: string) =>
  loadStack(text, 'stack.yaml').diagnostics.map(
    ({ where, detail, hint }) => `${where?.line}:${where?.column} ${detail} ${hint?.text}`,
  );

const REST = Array.from({ length: 20 }, (_, n) => `k${n}: { size: 10GiB }`).join('\n');

describe('a file that is not YAML', () => {
  it.each([
    ['a:\n  cpu: { cores: ${var.cpus} }', '2:17 A value with ${…}', 'into quotes: "${var.cpus}".'],
    ['a: [x-${number}-y, 2]', '1:7 A value with ${…}', 'into quotes: "${number}".'],
    ['a: {\n  b: ${var.x}\n}', '2:6 A value with ${…}', 'into quotes: "${var.x}".'],
    ['a: { b: "${var.x}", c: ${var.y} }', '1:24 A value with ${…}', 'into quotes: "${var.y}".'],
    ['a:\n\tb:\n\t\tc: 1', '2:1 The indentation contains a tab (2 lines have one).', 'Replace every tab'],
    ['a:\n  b: 1\n\tc: 2', '3:1 The indentation contains a tab. ', 'Replace every tab'],
    ['a:\n  b: 1\n c: 2\n', '3:2 The indentation does not match', 'the same number of spaces'],
    ['a:\n  b: 1\n   c: 2\n', '3:4 The indentation does not match', 'the same number of spaces'],
    ['a:\n  b: 1 # x\n\n  # y\n   c: 2\n', '5:4 The indentation does not match', 'the same number of spaces'],
    ['a:\n  - x\n - y\n', '3:2 The indentation does not match', 'the same number of spaces'],
    ['a: [1, 2', '1:4 The bracket that begins here is not closed.', 'Close it with ].'],
    ['a: { b: [1, 2 }', '1:9 The bracket that begins here is not closed.', 'Close it with ].'],
    ['a: "abc', '1:4 The quote that begins here is not closed.', 'Close it with ".'],
    ["a: 'abc", '1:4 The quote that begins here is not closed.', "Close it with '."],
    ['version:1', '1:1 A key cannot span several lines.', 'Check this line'],
    ['a: { b:1 }', '1:6 This key has no value.', 'Put a space after the ":"'],
  ])('%j gives one error, at the place to correct', (text, expected, hint) => {
    const found = problems(`${text}\n${REST}`);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(expected);
    expect(found[0]).toContain(hint);
  });

  it('lists every duplicate key and tag, because they do not confuse the parser', () => {
    expect(problems('a: 1\na: 2\nb: 1\nb: 2\nc: !env X')).toHaveLength(3);
    expect(problems('a: 1\na: 2\nb: [\nc: 3\nc: 4')).toEqual([
      expect.stringContaining('2:1 This key occurs twice'),
      expect.stringContaining('3:4 The bracket'),
    ]);
  });

  it('does not mistake quoted references for the cause', () => {
    expect(problems('a: { b: "${var.x}", c: d: e }')).toEqual([expect.not.stringContaining('${…}')]);
  });
});
