/** Small parts that several views use. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Asked } from './ask.ts';

/** A view that is read, with a way to read it again; or why it could not be read. */
export function Shown<Value>({
  asked,
  children,
}: {
  asked: Asked<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  const { answer, isBusy, again } = asked;
  return (
    <div aria-busy={isBusy}>
      <p class="tools">
        <button type="button" onClick={again} disabled={isBusy}>
          {isBusy ? 'Reading…' : 'Read again'}
        </button>
      </p>
      {answer?.ok && answer.note && <p class="warning">{answer.note}</p>}
      {answer && (answer.ok ? children(answer.value) : <Problems problems={answer.problems} />)}
    </div>
  );
}

export type Problem = Extract<NonNullable<Asked<unknown>['answer']>, { ok: false }>['problems'][number];

export function Problems({ problems }: { problems: readonly Problem[] }) {
  return (
    <ul class="problems">
      {problems.map(({ code, summary, detail, hint }, at) => (
        <li key={at}>
          <strong>{summary}</strong> <code>{code}</code>
          <pre>{detail}</pre>
          {hint && <p class="quiet">{hint.text}</p>}
        </li>
      ))}
    </ul>
  );
}

/** While something is read for the first time. */
export function Reading() {
  return (
    <p class="quiet" aria-busy="true">
      Reading…
    </p>
  );
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10} ${UNITS[power]}`;
}

/** Closed content is not drawn: a page with 300 closed folds costs as little as 300 lines. */
export function Fold({
  title,
  kind,
  isOpen,
  children,
}: {
  title: ComponentChildren;
  kind: string;
  isOpen: boolean;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(isOpen);
  return (
    <details class={`fold ${kind}`} open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {open && <div class="inside">{children}</div>}
    </details>
  );
}

/** A few numbers in large type. Zeroes are left out. */
export function Tally({
  label,
  counts,
}: {
  label: string;
  counts: readonly { readonly words: string; readonly tone: string; readonly count: number }[];
}) {
  const some = counts.filter(({ count }) => count > 0);
  if (some.length === 0) return null;
  return (
    <ul class="tally" aria-label={label}>
      {some.map(({ words, tone, count }) => (
        <li key={words} class={`tone-${tone}`}>
          <b>{count}</b> {words}
        </li>
      ))}
    </ul>
  );
}

/** The policy of the page allows no style attributes; the width of a shape is none. */
export function Level({
  label,
  usedBytes,
  totalBytes,
  oursBytes = 0,
}: {
  label: string;
  usedBytes: number;
  totalBytes: number;
  /** Of what is in use, what is ours. */
  oursBytes?: number;
}) {
  const percent = Math.min(100, (100 * usedBytes) / totalBytes);
  const ours = Math.min(percent, (100 * oursBytes) / totalBytes);
  return (
    <div class="level">
      <span>{label}</span>
      <span class="quiet">
        {size(totalBytes - usedBytes)} free of {size(totalBytes)}
      </span>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="all" width="100" height="6" />
        <rect class={percent > 90 ? 'used full' : 'used'} width={percent} height="6" />
        {ours > 0 && <rect class="ours" width={ours} height="6" />}
      </svg>
    </div>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [words, setWords] = useState('Copy');
  const copy = () => {
    void navigator.clipboard.writeText(text).then(
      () => setWords('Copied'),
      () => setWords('Select it and press Ctrl-C'),
    );
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`${words}: ${label}`}>
      {words}
    </button>
  );
}

export function value(of: unknown): string {
  if (of === null || of === undefined) return '–';
  if (Array.isArray(of) && of.length > 0 && of.every((each) => typeof each === 'string')) return of.join(', ');
  return typeof of === 'string' ? of : JSON.stringify(of);
}

/** What is wider or higher than its place scrolls; the keyboard has to reach it for that. */
export function Scroll({ label, kind = '', children }: { label: string; kind?: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the arrow keys could not scroll it
    <section class={`scroll ${kind}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
