/** Equal changes of a plan: the first in full, every further one on a line with what differs in it. */
import type { Paint } from '../text/paint.ts';

export interface ChangeLine {
  readonly text: string;
  /** What the line shows, if it is about a field. */
  readonly field?: { readonly path: string; readonly value: string };
}

/** A change as it is shown in full; all lines are without colours. */
export interface ShownChange {
  /** In colour: mark, address, verb, name, id and node. */
  readonly title: string;
  /** Compared in addition to the lines: the kind of change and its verb. */
  readonly sort: string;
  readonly name: string;
  readonly address: string;
  readonly lines: readonly ChangeLine[];
  /** The lines in colour. */
  readonly painted: readonly string[];
}

/** With more differences than this a change is easier to read in full. */
const MAX_EXCEPTIONS = 3;

export function foldChanges(changes: readonly ShownChange[], paint: Paint): string[] {
  const lines: string[] = [];
  let model: ShownChange | undefined;
  for (const change of changes) {
    const exceptions = model && exceptionsFrom(model, change);
    if (exceptions && exceptions.length <= MAX_EXCEPTIONS) {
      const words = ['same as above', ...exceptions].join(', ');
      if (lines.at(-1) === '') lines.pop();
      lines.push(`${change.title}${paint('dim', `  ${words}`)}`, '');
    } else {
      model = change;
      lines.push(change.title, ...change.painted, '');
    }
  }
  return lines;
}

/** The fields that have another value than in `model`, with that value; undefined if more than values differs. */
function exceptionsFrom(model: ShownChange, change: ShownChange): string[] | undefined {
  if (model.sort !== change.sort || model.lines.length !== change.lines.length) return undefined;
  const exceptions: string[] = [];
  for (const [index, line] of change.lines.entries()) {
    const other = model.lines[index];
    const path = line.field?.path;
    if (!other || path !== other.field?.path) return undefined;
    // The name is in the title. Any other value counts as it is: a VM may be called 2 and have 2 cores.
    if (path === 'name' || line.text === other.text) continue;
    if (line.field) exceptions.push(`${line.field.path} ${line.field.value}`);
    else if (anonymous(line, change) !== anonymous(other, model)) return undefined;
  }
  return exceptions;
}

/** A line without the address and the name of its VM. A name without a letter could be any number in the line. */
function anonymous({ text }: ChangeLine, { name, address }: ShownChange): string {
  const unaddressed = text.replaceAll(address, '…');
  return /[a-z]/i.test(name) ? unaddressed.replaceAll(name, '…') : unaddressed;
}
