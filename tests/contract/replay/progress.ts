/** Progress lines of a log: the one part of it that depends on how fast the machine was. */

/** A run of such lines counts as one, which says what was copied of how much. */
export function collapseProgress(lines: readonly string[]): readonly string[] {
  const marked = lines.map((line) => ({ line: line.replace(PROGRESS_LINE, '$1transferred … of $2'), original: line }));
  return marked
    .filter(({ line, original }, index) => line === original || line !== marked[index - 1]?.line)
    .map(({ line }) => line);
}

const PROGRESS_LINE =
  /^((?:(?:drive|mirror)-[a-z0-9]+: )?)transferred \d+\.\d \w+ of (\d+\.\d \w+) \(\d+\.\d\d%\)(?: in .*)?$/;
