/** `vmids`: `101-109`, a single id, or a list of both → the ids. */
import type { Findings } from './findings.ts';
import { type Located, quote } from './located.ts';

const LOWEST = 100;
const HIGHEST = 999_999_999;
const MAX_IDS = 10_000;

/** Undefined where something is wrong with it, which then has been reported. */
export function readIds(node: Located, findings: Findings): readonly number[] | undefined {
  const parts = node.kind === 'list' ? node.items : [node];
  const ids = new Set<number>();
  for (const part of parts) {
    const range = readRange(part, findings);
    if (!range) return undefined;
    if (ids.size + range.last - range.first >= MAX_IDS) {
      findings.add({
        code: 'BAD_VALUE',
        where: part.at,
        detail: `"vmids" names more than ${MAX_IDS} ids.`,
        hint: 'Narrow the range to what the group can need.',
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
      ? `${quote(text)} is neither an id nor a range of ids.`
      : first > last
        ? `The range ${text} runs backwards.`
        : first < LOWEST || last > HIGHEST
          ? `Ids of VMs lie between ${LOWEST} and ${HIGHEST}; this says ${text}.`
          : undefined;
  if (problem === undefined) return { first, last };
  findings.add({ code: 'BAD_VALUE', where: node.at, detail: problem, hint: 'Write for example vmids: 101-109.' });
  return undefined;
}
