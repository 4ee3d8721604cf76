/**
 * A plan as a comment on a pull or merge request: a summary, the changes as a table, and the details folded. The same
 * plan gives the same text. Foreign text (names, descriptions, server messages) can neither change the layout nor
 * mention a user. A plan that is too long is shortened, and the comment says what is left out.
 */
import { formatDiagnostic } from '../../../base/diagnostics.ts';
import { visibleLine, visibleText } from '../../../base/text/safe-text.ts';
import { counted, inNumber } from '../../../base/values/units.ts';
import { type Change, type ChangeKind, type Plan, pendingRestarts } from '../../../kinds/change.ts';
import { plainPaint } from '../text/paint.ts';
import { printDestroyed, renderChanges, renderRemarks, renderSharedSteps, renderTotals } from './plan.ts';

/** GitHub takes 65,536 characters in a comment, GitLab 1,000,000. The rest is for a line that a job adds. */
export const COMMENT_LIMIT = 65_000;
/** Space reserved for the summary. */
export const SMALLEST_COMMENT = 8_000;

/** The first line of the comment, by which a job finds the one that it wrote before. */
export function commentMarker(stack: string): string {
  return `<!-- proxwright plan ${stack.replace(/[^\w.]+/g, '-')} -->`;
}

/** At most `limit` bytes, which are at least as many as characters. */
export function planMarkdown(plan: Plan, limit = COMMENT_LIMIT): string[] {
  const changes = plan.changes.filter(({ kind }) => kind !== 'none');
  const head = [
    commentMarker(plan.stack),
    `### Plan for ${code(plan.stack)}`,
    '',
    `**${escaped(shortened(renderTotals(plan, plainPaint), MOST_IN_LINE / 4))}**`,
    ...dangers(plan, Math.floor(limit / 16)),
  ];
  // Half of the room is for the table, so that no number of VMs hides all details.
  const space = new Space(limit - sizeOf(head) - NOTE_BYTES);
  const rows = space.half().take(changes.map(tableRow));
  space.use(rows);
  const sections = sectionsOf(plan).map(({ title, lines }) => space.section(title, lines));
  const left = [
    ...(rows.length < changes.length ? [`${changes.length - rows.length} of ${changes.length} changes`] : []),
    ...sections.flatMap(({ left: lines, title }) => (lines > 0 ? [`${counted(lines, 'line')} of "${title}"`] : [])),
  ];
  return [
    ...head,
    ...(rows.length > 0 ? ['', ...TABLE_HEAD, ...rows] : []),
    ...sections.flatMap(({ text }) => text),
    ...(left.length > 0
      ? ['', `> **Shortened to fit a comment.** Left out: ${left.join(', ')}. \`proxwright plan\` shows everything.`]
      : []),
  ];
}

/** For the head of the table and the note about what is left out. */
const NOTE_BYTES = 800;
const TABLE_HEAD = ['| | Address | Name | VM | Node | Changes |', '| --- | --- | --- | --- | --- | --- |'];

const VERBS: Readonly<Record<ChangeKind, string>> = {
  create: 'create',
  complete: 'complete',
  update: 'change',
  supersede: 'new version',
  replace: '**replace**',
  delete: '**delete**',
  forget: 'forget',
  keep: 'keep',
  none: '',
};

const SHOWN_FIELDS = 5;

function tableRow({ kind, address, name, vmid, node, differences, restarts }: Change): string {
  const paths = kind === 'update' ? differences.map(({ path }) => code(path)) : [];
  const more = paths.length > SHOWN_FIELDS ? [`${paths.length - SHOWN_FIELDS} more`] : [];
  const fields = [...paths.slice(0, SHOWN_FIELDS), ...more, ...(restarts ? ['restarts'] : [])].join(', ');
  return `| ${[VERBS[kind], code(address), code(name), vmid ?? '', code(node), fields].join(' | ')} |`;
}

/**
 * What a reader sees without unfolding: destroyed data, and VMs that become unavailable. `most` bytes for each of them.
 */
function dangers({ changes }: Plan, most: number): string[] {
  const destroyed = changes.flatMap(({ address, destroys = [] }) =>
    destroys.map((volume) => `${code(address)} ${code(printDestroyed(volume))}`),
  );
  const restarted = changes.filter(({ restarts }) => restarts).map(({ address }) => code(address));
  const replaced = changes.filter(({ kind }) => kind === 'replace').map(({ address }) => code(address));
  const all: readonly (readonly [title: string, items: readonly string[]])[] = [
    [`${counted(destroyed.length, 'volume')} ${inNumber(destroyed.length, 'is', 'are')} destroyed`, destroyed],
    [`${counted(replaced.length, 'VM')} ${inNumber(replaced.length, 'is', 'are')} replaced`, replaced],
    [`${counted(restarted.length, 'VM')} ${inNumber(restarted.length, 'is', 'are')} restarted`, restarted],
    ['Restart pending', pendingRestarts(changes).map(code)],
  ];
  return all.flatMap(([title, items]) => {
    if (items.length === 0) return [];
    const shown = new Space(most).take(items);
    const more = items.length > shown.length ? [`and ${items.length - shown.length} more`] : [];
    return ['', `**${title}:** ${[...shown, ...more].join(', ')}`];
  });
}

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

/** The most dangerous changes first: they are left out last. */
function sectionsOf(plan: Plan): Section[] {
  const of = (...kinds: readonly ChangeKind[]) => plan.changes.filter(({ kind }) => kinds.includes(kind));
  const changes = (verb: string, chosen: readonly Change[]): Section => ({
    title: `${chosen.length} to ${verb}`,
    lines: renderChanges(plan, chosen, plainPaint),
  });
  const others = of('keep', 'none');
  const warnings = plan.warnings.flatMap((warning) => [...formatDiagnostic(warning).split('\n'), '']);
  const sections: Section[] = [
    { title: counted(plan.warnings.length, 'warning'), lines: warnings },
    changes('replace', of('replace')),
    changes('delete', of('delete', 'forget')),
    changes('change', of('update')),
    { title: 'Shared by several VMs', lines: renderSharedSteps(plan, plainPaint) },
    changes('create', of('create', 'complete', 'supersede')),
    { title: 'Left as they are', lines: renderChanges(plan, others, plainPaint) },
    { title: 'Order and checks', lines: renderRemarks(plan, plainPaint) },
  ];
  return sections.map(({ title, lines }) => ({ title, lines: trimmed(lines) })).filter(({ lines }) => lines.length > 0);
}

/** A description of many pages becomes one line. */
const MOST_IN_LINE = 1_000;

function trimmed(lines: readonly string[]): string[] {
  const shown = lines.flatMap((line) => visibleText(line).split('\n')).map((line) => shortened(line, MOST_IN_LINE));
  while (shown.at(-1) === '') shown.pop();
  return shown;
}

/** How many bytes are left. */
class Space {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  half(): Space {
    return new Space(Math.floor(this.#left / 2));
  }

  use(lines: readonly string[]): void {
    this.#left -= sizeOf(lines);
  }

  /** The first lines that fit. */
  take(lines: readonly string[]): string[] {
    const fitting = lines.findIndex((line) => {
      const size = sizeOf([line]);
      if (size > this.#left) return true;
      this.#left -= size;
      return false;
    });
    return fitting < 0 ? [...lines] : lines.slice(0, fitting);
  }

  /** In a fence that no line of the section can end, so that nothing in it is read as Markdown or HTML. */
  section(title: string, lines: readonly string[]): { title: string; text: string[]; left: number } {
    const longest = Math.max(0, ...lines.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length)));
    const fence = '`'.repeat(Math.max(3, longest + 1));
    const before = ['', `<details><summary>${title}</summary>`, '', `${fence}text`];
    const after = [fence, '', '</details>'];
    const frame = sizeOf([...before, ...after]) + LEFT_OUT_BYTES;
    if (frame > this.#left) return { title, text: [], left: lines.length };
    this.#left -= frame;
    const shown = this.take(lines);
    const left = lines.length - shown.length;
    const note = left > 0 ? [`… ${counted(left, 'more line')} …`] : [];
    return { title, text: [...before, ...shown, ...note, ...after], left };
  }
}

const LEFT_OUT_BYTES = 40;

/** With the line breaks. */
const sizeOf = (lines: readonly string[]) => lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);

const MOST_IN_CODE = 120;

/** Text as code: it is shown as it is, starts no tag, link, cell or mention, and notifies no user. */
function code(text: string): string {
  return `<code>${escaped(shortened(visibleLine(text), MOST_IN_CODE))}</code>`;
}

/** Every character that Markdown or HTML could read as more than text. */
function escaped(text: string): string {
  return visibleLine(text).replace(/[^\p{L}\p{N}\p{M} .,-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

function shortened(text: string, most: number): string {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}
