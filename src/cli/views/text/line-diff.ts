/** The lines by which two texts differ, with a few lines of context. Pure. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'gap';
  readonly line: string;
}

const AROUND = 2;

export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines = aligned(old, now);
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ kind }) => kind !== 'same'),
  );
  return lines.flatMap((line, index): DiffLine[] => {
    if (isNear[index]) return [line];
    const beginsGap = index === 0 || isNear[index - 1];
    return beginsGap ? [{ kind: 'gap', line: '…' }] : [];
  });
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** By the longest common subsequence of what is left between equal beginnings and ends. */
function aligned(old: readonly string[], now: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const same = (line: string): DiffLine => ({ kind: 'same', line });
  return [
    ...old.slice(0, head).map(same),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

function between(old: readonly string[], now: readonly string[]): DiffLine[] {
  // longest[i][j]: of old from i and now from j.
  const longest = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [row = [], below = []] = [longest[i], longest[i + 1]];
      row[j] = old[i] === now[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const isSame = i < old.length && j < now.length && old[i] === now[j];
    const drops = i < old.length && (j >= now.length || (longest[i + 1]?.[j] ?? 0) >= (longest[i]?.[j + 1] ?? 0));
    if (isSame) lines.push({ kind: 'same', line: old[i++] ?? '' });
    else if (drops) lines.push({ kind: 'removed', line: old[i++] ?? '' });
    else lines.push({ kind: 'added', line: now[j] ?? '' });
    if (isSame || (!isSame && !drops)) j++;
  }
  return lines;
}
