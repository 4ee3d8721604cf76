/** What a stopped task's last words mean. */

export type TaskEnd =
  | { readonly kind: 'ok' }
  | { readonly kind: 'warnings'; readonly warnings: number }
  | { readonly kind: 'failed'; readonly text: string }
  /** The log had no last line that says: the worker was killed, or the line is still being written. */
  | { readonly kind: 'unclear'; readonly text: string };

export function readExitStatus(exitstatus: string | undefined): TaskEnd {
  if (exitstatus === 'OK') return { kind: 'ok' };
  const warnings = /^WARNINGS: (\d+)$/.exec(exitstatus ?? '')?.[1];
  if (warnings !== undefined) return { kind: 'warnings', warnings: Number(warnings) };
  if (exitstatus === undefined || exitstatus === '') return { kind: 'unclear', text: 'no exit status' };
  if (exitstatus === 'unexpected status' || exitstatus.startsWith('unable to get last line from task log')) {
    return { kind: 'unclear', text: exitstatus };
  }
  return { kind: 'failed', text: exitstatus };
}

/** The line that every worker writes last: `TASK OK`, `TASK WARNINGS: n`, `TASK ERROR: text`. */
export function readLastLogLine(line: string | undefined): TaskEnd | undefined {
  const [, word, error] = /^TASK (OK|WARNINGS: \d+|ERROR: ([\s\S]*))$/.exec(line?.trim() ?? '') ?? [];
  if (word === undefined) return undefined;
  return error === undefined ? readExitStatus(word) : { kind: 'failed', text: error };
}
