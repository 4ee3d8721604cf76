/** What `convert` did, what it left for a person, and the traps that it found. */
import { counted } from '../../base/values/units.ts';
import type { Conversion, Finding, FindingKind, Trap } from '../../convert/index.ts';
import { chooseView, type HumanScreen, type ViewDeps } from './view.ts';

export interface Converted {
  readonly directory: string;
  /** Undefined: nothing was written. */
  readonly target?: string;
  readonly backup?: string;
  readonly conversion: Conversion;
  readonly traps: readonly Trap[];
  readonly skipped: readonly SkippedFile[];
}

/** What convert does not read, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly why: string;
}

export interface ConvertedStack {
  /** Undefined: it is printed. */
  readonly target?: string;
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly skipped: readonly SkippedFile[];
}

export interface ConvertView {
  stack(result: ConvertedStack): void;
  converted(result: Converted): void;
  linted(traps: readonly Trap[], skipped: readonly SkippedFile[]): void;
}

export function convertView(deps: ViewDeps): ConvertView {
  return chooseView<ConvertView>(deps, {
    human: humanView,
    json: ({ print }) => ({
      converted: ({ directory, target, backup, conversion, traps, skipped }) =>
        print({
          directory,
          target: target ?? null,
          backup: backup ?? null,
          converted: conversion.counts,
          files: [...conversion.changed.keys()],
          findings: conversion.findings,
          traps,
          skipped,
        }),
      stack: ({ target, text, findings, skipped }) => print({ target: target ?? null, text, findings, skipped }),
      linted: (traps, skipped) => print({ traps, skipped }),
    }),
  });
}

const HEADINGS: readonly (readonly [kind: FindingKind, heading: string])[] = [
  ['left', 'Not translated; it stays as a comment'],
  ['review', 'Translated; check it'],
  ['note', 'Behaves differently from now on'],
  ['dropped', 'Dropped, because it is not needed'],
];

function humanView({ terminal, print, paint }: HumanScreen): ConvertView {
  const showTraps = (traps: readonly Trap[]) => {
    if (traps.length === 0) return;
    print(['', paint('bold', `Traps in the old configuration: ${traps.length}`)]);
    for (const { file, line, subject, rule, what, remedy, known } of traps) {
      print([`  ${file}:${line}  ${subject}  ${paint('yellow', `[${rule}]`)}`, `    ${what}`, `    ${remedy}`]);
      if (known.length > 0) print([paint('dim', `    ${known.join(' ')}`)]);
    }
  };
  const showSkipped = (skipped: readonly SkippedFile[]) => {
    for (const { path, why } of skipped) terminal.log('warn', `${path}: ${why}`);
  };
  return {
    converted: ({ directory, target, backup, conversion, traps, skipped }) => {
      const { findings, counts } = conversion;
      for (const [kind, heading] of HEADINGS) showFindings(kind, heading, findings);
      showSkipped(skipped);
      showTraps(traps);
      print(['']);
      const parts = [
        counted(counts.vms, 'VM resource'),
        counted(counts.templates, 'template'),
        counted(counts.images, 'image'),
        counted(counts.snippets, 'snippet'),
      ].filter((part) => !part.startsWith('0 '));
      const what = parts.length === 0 ? 'nothing' : parts.join(', ');
      if (target === undefined) {
        terminal.success(`Would convert ${what} of ${directory}. Nothing was written: use --out DIR or --in-place.`);
        return;
      }
      terminal.success(
        `Converted ${what} into ${target}.${backup === undefined ? '' : ` The old files are in ${backup}.`}`,
      );
      terminal.log('info', 'Next: terraform init && terraform plan. It must show nothing to add or destroy.');
    },
    stack: ({ target, text, findings, skipped }) => {
      showSkipped(skipped);
      for (const { file, line, subject, what, why } of findings) {
        terminal.log('warn', `${file}:${line}: ${subject}: ${what}: ${why}`);
      }
      if (target === undefined) print(text.trimEnd().split('\n'));
      else terminal.success(`Wrote ${target}.`);
    },
    linted: (traps, skipped) => {
      showSkipped(skipped);
      showTraps(traps);
      if (traps.length === 0) terminal.success('No traps found.');
    },
  };

  function showFindings(kind: FindingKind, heading: string, findings: readonly Finding[]): void {
    const some = findings.filter((finding) => finding.kind === kind);
    if (some.length === 0) return;
    print(['', paint('bold', `${heading}: ${some.length}`)]);
    for (const { file, line, subject, what, why } of some) {
      print([`  ${file}:${line}  ${subject}  ${what}`, `    ${why}`]);
    }
  }
}
