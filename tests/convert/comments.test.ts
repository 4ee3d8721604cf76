/** A comment can be anywhere in a file. Wherever it is, a conversion keeps it, and what it writes can be read. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../src/convert/hcl/read.ts';
import { type Body, childrenOf, type Expression, type Span } from '../../src/convert/hcl/syntax.ts';
import { convertFiles } from '../../src/convert/index.ts';

const TREES = resolve(import.meta.dirname, 'trees');

const isText = ({ kind, ...rest }: Expression): boolean =>
  kind === 'template' || (kind === 'literal' && 'value' in rest && typeof rest.value === 'string');

/** Where a comment can begin: in front of every item, expression and closing brace, or at the end of every line. */
function placesIn(source: string): { readonly before: readonly number[]; readonly ends: readonly number[] } {
  const body = readBody(source, 'main.tf');
  const closed: Span[] = [...body.comments];
  const before = new Set<number>();
  const inExpression = (expression: Expression): void => {
    before.add(expression.start);
    if (isText(expression)) closed.push(expression);
    for (const child of childrenOf(expression)) inExpression(child);
  };
  const inBody = ({ items }: Body): void => {
    for (const item of items) {
      before.add(item.start);
      if (item.kind === 'attribute') inExpression(item.value);
      else {
        inBody(item.body);
        before.add(item.body.end);
      }
    }
  };
  inBody(body);
  const isInside = (at: number) => closed.some(({ start, end }) => at > start && at < end);
  // The end of a heredoc is alone on its line, and a comment up to the end of its line ends there.
  const isTaken = (at: number) =>
    closed.some(({ start, end }) => end === at && /^(?:<<|#|\/\/)/.test(source.slice(start)));
  const ends = [...source.matchAll(/\n/g)].map(({ index }) => index).filter((at) => !isInside(at) && !isTaken(at));
  return { before: [...before].filter((at) => !isInside(at)), ends };
}

const WAYS = {
  'in front of everything': { at: 'before', text: (mark: string) => `/* ${mark} */ ` },
  'in front of everything, on two lines': { at: 'before', text: (mark: string) => `/* ${mark}\n more */ ` },
  'in front of every third thing': { at: 'third', text: (mark: string) => `/* ${mark} */ ` },
  'at the end of every line': { at: 'ends', text: (mark: string) => ` # ${mark}` },
  'below every line': { at: 'ends', text: (mark: string) => `\n// ${mark}` },
} as const;

function commented(source: string, way: keyof typeof WAYS, prefix: string) {
  const { at, text } = WAYS[way];
  const { before, ends } = placesIn(source);
  const places = at === 'ends' ? ends : before.filter((_, index) => at === 'before' || index % 3 === 0);
  const marks = places.map((place, index) => ({ place, mark: `${prefix}x${index}x` }));
  let result = source;
  for (const { place, mark } of [...marks].sort((a, b) => b.place - a.place)) {
    result = result.slice(0, place) + text(mark) + result.slice(place);
  }
  return { text: result, marks: marks.map(({ mark }) => mark) };
}

const cases = readdirSync(TREES).flatMap((tree) =>
  (Object.keys(WAYS) as (keyof typeof WAYS)[]).map((way) => [way, tree] as const),
);

describe.each(cases)('comments %s of the tree %s', (way, tree) => {
  const directory = join(TREES, tree, 'before');
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tf'));
  const sources = paths.map((path, index) => {
    const source = readFileSync(join(directory, path), 'utf8').replace(/\r\n/g, '\n');
    return [path, commented(source, way, `q${index}`)] as const;
  });
  const marks = sources.flatMap(([, each]) => each.marks);

  it.each([
    ['\n', 'Unix'],
    ['\r\n', 'Windows'],
  ])('stay, with line ends %j of %s', (lineEnd) => {
    const files = new Map(sources.map(([path, { text }]) => [path, text.replaceAll('\n', lineEnd)]));
    const { changed } = convertFiles(files);
    const after = new Map([...files, ...changed]);
    for (const [path, text] of after) if (/\.tf$/.test(path)) readBody(text, path);
    const present = new Set([...after.values()].flatMap((text) => text.match(/q\d+x\d+x/g) ?? []));
    expect(marks.filter((mark) => !present.has(mark))).toEqual([]);
    for (const path of files.keys()) {
      const text = after.get(path) ?? '';
      expect(text.split('\n').length).toBe(text.split(lineEnd).length);
    }
    expect(marks.length).toBeGreaterThan(5);
  });
});
