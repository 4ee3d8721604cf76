/** Reads `vmids`: `101-109`, a single ID, or a list of both. */
import { counted } from '../base/count.ts';
import { advice, setting } from '../base/hint.ts';
import type { Findings } from './findings.ts';
import { child, type Located, type LocatedMap, quote } from './located.ts';

const LOWEST = 100;
const HIGHEST = 999_999_999;
const MAX_IDS = 10_000;

/** The IDs in `vmids`, of which `need.count` are needed. */
export function readPool(
  keys: Located,
  whole: LocatedMap,
  need: { readonly count: number; readonly words: string },
  findings: Findings,
): readonly number[] | undefined {
  const node = child(keys, 'vmids');
  if (!node) return undefined;
  const fixed = whole.entries.get('vmid');
  if (fixed) {
    findings.add({
      code: 'BAD_VALUE',
      where: fixed.keyAt,
      detail: '"vmid" and "vmids" cannot be used together: give one fixed ID, or a range to choose from.',
    });
  }
  const ids = readIds(node, findings);
  if (ids && ids.length < need.count) {
    findings.add({
      code: 'BAD_VALUE',
      where: node.at,
      detail: `"vmids" holds ${counted(ids.length, 'ID')}, but ${need.words}.`,
      hint: 'Widen the range, or lower the count.',
    });
  }
  return ids;
}

/** Undefined if it has a problem, which is then reported. */
function readIds(node: Located, findings: Findings): readonly number[] | undefined {
  const parts = node.kind === 'list' ? node.items : [node];
  const ids = new Set<number>();
  for (const part of parts) {
    const range = readRange(part, findings);
    if (!range) return undefined;
    if (ids.size + range.last - range.first >= MAX_IDS) {
      findings.add({
        code: 'BAD_VALUE',
        where: part.at,
        detail: `"vmids" names more than ${MAX_IDS} IDs.`,
        hint: 'Use a smaller range.',
      });
      return undefined;
    }
    for (let id = range.first; id <= range.last; id++) ids.add(id);
  }
  return [...ids];
}

function readRange(node: Located, findings: Findings): { readonly first: number; readonly last: number } | undefined {
  if (node.kind === 'unknown') return undefined;
  const text = node.kind === 'scalar' ? String(node.value) : '';
  const [, from = '', to = from] = /^\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  const problem =
    from === ''
      ? `${quote(text)} is neither an ID nor a range of IDs.`
      : first > last
        ? `The range ${text} is reversed: its end is before its start.`
        : first < LOWEST || last > HIGHEST
          ? `VM IDs are between ${LOWEST} and ${HIGHEST}, not ${text}.`
          : undefined;
  if (problem === undefined) return { first, last };
  findings.add({
    code: 'BAD_VALUE',
    where: node.at,
    detail: problem,
    hint: advice`Write for example ${setting('vmids', '101-109')}.`,
  });
  return undefined;
}
