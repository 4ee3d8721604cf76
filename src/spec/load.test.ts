import { describe, expect, it } from 'vitest';
import { loadStack } from './load.ts';
import { resolveStack } from './resolve.ts';
import { problemsOf, stackOf, webStack } from './testing/resolving.ts';

const problems = (text: string) =>
  loadStack(text, 'stack.yaml').diagnostics.map(({ where, detail }) => `${where?.line}:${where?.column} ${detail}`);

describe('loadStack', () => {
  it('reads JSON as well, indented by tabs too', () => {
    const json = JSON.stringify(
      { version: 1, stack: 's', vms: { web: { name: 'w', node: 'n', clone: { template: 9000 } } } },
      null,
      '\t',
    );
    expect(stackOf(json).vms[0]?.fields).toMatchObject({ name: 'w', clone: { template: 9000, mode: 'full' } });
  });

  it.each([
    ['', '1:1 The file is empty; a stack file is a map of keys and values.'],
    ['# only a comment\n', 'The file is empty; a stack file is a map of keys and values.'],
    ['- a\n- b', '1:1 A stack file is a map of keys and values, not a list.'],
    ['hello', '1:1 A stack file is a map of keys and values, not a single value.'],
    ['a: 1\na: 2', '2:1 This key occurs twice in the same map.'],
    ['a:\n  2: x\n  "2": y', 'This key occurs twice in the same map.'],
    ['a: 1\n---\nb: 2', 'The file contains several YAML documents (---), but a file describes one stack.'],
    ['a:\n', '1:3 This key has no value.'],
    ['a: { b }', '1:6 This key has no value.'],
    ['a: !env X', '1:4 Stack files do not support YAML tags (!name).'],
    ['a: !!str 1', '1:10 Stack files do not support YAML tags.'],
    ['a: *b', '1:4 No anchor (&name) comes before this alias (*name).'],
    ['? [a]\n: 1', '1:3 A key must be a word or a number.'],
    ['null: 1', '1:1 A key must be a word or a number.'],
  ])('refuses %j with a position', (text, expected) => {
    expect(problems(text)).toEqual([expect.stringContaining(expected)]);
  });

  it('does not echo the text of a line that is not YAML', () => {
    for (const text of ['a: *hunter2', 'a: !hunter2', 'a: "hunter2" hunter2', 'a: `hunter2', 'a: hunter2: hunter2']) {
      expect(problems(text).join()).not.toContain('hunter2');
      expect(problems(text)).not.toEqual([]);
    }
  });

  it('survives aliases that contain themselves or multiply', () => {
    expect(problems('a: &a [*a]').length).toBeGreaterThan(0);
    const bomb = Array.from(
      { length: 12 },
      (_, n) => `k${n}: &k${n} [${Array.from({ length: 9 }, () => (n === 0 ? 'x' : `*k${n - 1}`)).join(', ')}]`,
    );
    expect(problems(bomb.join('\n')).join()).toContain('The file is too large');
  });

  it('survives endless nesting', () => {
    const indented = Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('');
    const mixed = `${indented.split('\n').slice(0, 599).join('\n')}\n${' '.repeat(599)}${'[{a: '.repeat(149)}`;
    for (const text of [
      '['.repeat(50_000),
      '{a: '.repeat(50_000),
      `a: ${'['.repeat(100)}${']'.repeat(100)}`,
      '- '.repeat(5_000),
      '? '.repeat(5_000),
      indented,
      mixed,
    ]) {
      expect(problems(text)).not.toEqual([]);
    }
  });

  it('treats keys that are special in JavaScript as unknown', () => {
    const text = webStack(
      '__proto__: { polluted: 1 }\nconstructor: 1\ndisks: { __proto__: { size: 1GiB } }\ntoString: x',
    );
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('8:5 error UNKNOWN_FIELD: "__proto__"'),
      expect.stringContaining('9:5 error UNKNOWN_FIELD: "constructor"'),
      expect.stringContaining('10:14 error UNKNOWN_FIELD: "__proto__"'),
      expect.stringContaining('11:5 error UNKNOWN_FIELD: "toString"'),
    ]);
  });

  it('lets anchors and aliases share values', () => {
    const text = webStack('cpu: &cpu { cores: 4 }\nmemory: 1GiB').concat(
      '\n  db: { name: db, node: pve1, clone: { template: debian }, cpu: *cpu }',
    );
    expect(stackOf(text).vms[1]?.fields.cpu).toEqual({ cores: 4 });
  });

  it('distinguishes an empty key from an explicit null', () => {
    expect(problemsOf(webStack('memory:'))).toEqual([
      expect.stringContaining('8:12 error BAD_VALUE: This key has no value.'),
    ]);
    expect(problemsOf(webStack('memory: null'))).toEqual([]);
  });
});

describe('a file that is too large', () => {
  const HEAD = 'version: 1\nstack: x\ndefaults: { node: pve1, clone: { template: t } }\nvms:\n';
  const machines = (count: number) => Array.from({ length: count }, (_, index) => `  a${index}: {}\n`).join('');
  const letters = [...'abcdefghi'];

  it.each([
    ['200,000 VMs', `${HEAD}${machines(200_000)}`, /^The file is too large/],
    ['60,000 VMs', `${HEAD}${machines(60_000)}`, /^With this group the stack has more than 10000 VMs/],
    ['a count of a billion', `${HEAD}  a: { count: 1000000000 }\n`, /at most 10000/],
    ['groups that are too large together', `${HEAD}${groupsOf(9_000)}`, /more than 10000 VMs/],
    ['a million elements', `a: [${'1,'.repeat(1_000_000)}]`, /^The file is too large/],
    ['190,000 aliases', `a: &a x\nb: [${Array(190_000).fill('*a').join(',')}]\n`, /^The file is too large/],
    [
      'aliases of aliases',
      letters.map((name, index) => `${name}: &${name} [${refer(letters[index - 1]).join(',')}]\n`).join(''),
      /^The file is too large/,
    ],
    [
      'merge keys of merge keys',
      letters.map((name, index) => `${name}: &${name}\n  <<: [${refer(letters[index - 1]).join(',')}]\n`).join(''),
      /^The file is too large/,
    ],
    ['brackets in brackets', `a: ${'['.repeat(100_000)}`, /^The file is nested too deeply/],
  ])('is refused with one message about it: %s', (_what, text, message) => {
    const { diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
    const about = diagnostics.filter(({ detail }) => message.test(detail));
    expect(about).toHaveLength(1);
    expect(about[0]?.where?.line).toBeGreaterThan(0);
    expect(diagnostics.length).toBeLessThan(30);
  });
});

function refer(name: string | undefined): string[] {
  return Array(9).fill(name === undefined ? 'x' : `*${name}`);
}

function groupsOf(count: number): string {
  return (
    ['a', 'b', 'c'].map((name) => `  ${name}: { count: ${count} }\n`).join('') +
    `rollout: { limits: { group_size: ${count} } }\n`
  );
}
