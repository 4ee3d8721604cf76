/** The first step: parses the text of a stack file into a tree with positions. Later steps interpret the tree. */
import type { Diagnostic } from '../base/diagnostics.ts';
import { Findings } from './findings.ts';
import type { LocatedMap } from './located.ts';
import { describeKind } from './located.ts';
import { parseTree } from './yaml-tree.ts';

export interface LoadedStack {
  readonly file: string;
  /** Absent if the text is not a map in YAML or JSON; the diagnostics say why. */
  readonly root?: LocatedMap;
  readonly diagnostics: readonly Diagnostic[];
}

export function loadStack(text: string, fileName: string): LoadedStack {
  const findings = new Findings();
  const root = parseTree(text, fileName, findings);
  if (root?.kind === 'map') return { file: fileName, root, diagnostics: findings.list() };
  if (root?.kind === 'list' || root?.kind === 'scalar') {
    findings.add({
      code: 'BAD_VALUE',
      where: root.at,
      detail:
        root.kind === 'scalar' && root.value === ''
          ? 'The file is empty; a stack file is a map of keys and values.'
          : `A stack file is a map of keys and values, not ${root.kind === 'list' ? describeKind(root) : 'a single value'}.`,
      hint: 'The smallest one has version: 1, stack: NAME, and the machines under vms:.',
    });
  }
  return { file: fileName, diagnostics: findings.list() };
}
