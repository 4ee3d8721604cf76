/**
 * The first step: parses the text of a stack file, YAML or JSON, into a tree with positions. Later steps interpret the tree.
 * Messages about syntax never quote the text.
 */

import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import type { Diagnostic, Where } from '../base/diagnostics.ts';
import { describeKind, type Entry, type Located, type LocatedMap, scalar, unknownAt } from './located.ts';
import { Findings } from './problems/findings.ts';
import { syntaxProblems } from './syntax.ts';

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
      hint:
        root.kind === 'scalar' && /^\S+:\S/.test(String(root.value))
          ? SPACE_HINT
          : 'The smallest one has version: 1, stack: NAME, and the machines under vms:.',
    });
  }
  return { file: fileName, diagnostics: findings.list() };
}

/** Aliases can make a small file arbitrarily large. */
const MAX_NODES = 200_000;
const MAX_DEPTH = 60;
/** The parser compares each key with all others of its map; in a longer text the builder finds the first duplicate. */
const MAX_COMPARED = 200_000;
const MAX_BRACKETS = 300;
const TOO_DEEP = `The file is nested too deeply: more than ${MAX_DEPTH} levels.`;
const TOO_LARGE = `The file is too large: it may hold ${MAX_NODES} values, also after its aliases are resolved.`;
const SPLIT = 'Split it into several stacks, or describe equal VMs as one group with count.';

/** Undefined if the text is not YAML; the problems then say why. */
export function parseTree(text: string, file: string, findings: Findings): Located | undefined {
  const lines = new LineCounter();
  const tooDeep = deepLine(text);
  if (tooDeep !== undefined) {
    findings.add({ code: 'BAD_VALUE', where: { file, line: tooDeep, column: 1 }, detail: TOO_DEEP });
    return undefined;
  }
  const tooLarge = fullLine(text);
  if (tooLarge !== undefined) {
    findings.add({
      code: 'BAD_VALUE',
      where: { file, line: tooLarge, column: 1 },
      detail: TOO_LARGE,
      hint: SPLIT,
    });
    return undefined;
  }
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: text.length < MAX_COMPARED,
  });
  const at = (offset: number): Where => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problems = syntaxProblems(document, text);
  for (const { offset, detail, hint } of problems) findings.add({ code: 'BAD_VALUE', where: at(offset), detail, hint });
  if (problems.length > 0) return undefined;
  return new Builder(document, at, findings).build();
}

/**
 * The line at which nesting gets too deep. Checked before parsing, because the parser is recursive, and near the end of
 * the stack Node dies instead of throwing. Brackets in quotes count too: no real file has hundreds of unbalanced ones.
 */
function deepLine(text: string): number | undefined {
  let brackets = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const isChain = /^(?:[ \t]*[-?:][ \t]){60}/.test(line);
    const isFarIn = /^[ \t]{600}/.test(line);
    for (const character of line) {
      if (character === '[' || character === '{') brackets++;
      else if (character === ']' || character === '}') brackets = Math.max(brackets - 1, 0);
      if (brackets > MAX_BRACKETS) break;
    }
    if (isChain || isFarIn || brackets > MAX_BRACKETS) return index + 1;
  }
  return undefined;
}

/** The line at which there are too many values, checked before parsing, which needs a thousand bytes for each. */
function fullLine(text: string): number | undefined {
  let [values, line] = [0, 1];
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '\n') line++;
    if (character === '\n' || character === ',' || (character === ':' && /\s/.test(text[index + 1] ?? ''))) values++;
    // Most values have a line and a colon.
    if (values > 2 * MAX_NODES) return line;
  }
  return undefined;
}

/** The target of each alias: the last anchor of its name before it. One walk, because a file can have many of them. */
function aliasTargets(document: Document.Parsed): ReadonlyMap<Node, ParsedNode> {
  const anchors = new Map<string, ParsedNode>();
  const targets = new Map<Node, ParsedNode>();
  visit(document, {
    Alias: (_, alias) => {
      const target = anchors.get(alias.source);
      if (target) targets.set(alias, target);
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node as ParsedNode);
    },
  });
  return targets;
}

class Builder {
  readonly #document: Document.Parsed;
  readonly #at: (offset: number) => Where;
  readonly #findings: Findings;
  #nodes = 0;
  #targets: ReadonlyMap<Node, ParsedNode> | undefined;
  #isFull = false;

  constructor(document: Document.Parsed, at: (offset: number) => Where, findings: Findings) {
    this.#document = document;
    this.#at = at;
    this.#findings = findings;
  }

  build(): Located {
    return this.#node(this.#document.contents, this.#at(0), 0);
  }

  #node(node: ParsedNode | null | undefined, around: Where, depth: number): Located {
    if (!node) return depth === 0 ? scalar('', around) : this.#refuse(around, NOTHING, EMPTY_HINT);
    const at = this.#at(node.range[0]);
    this.#nodes++;
    if (this.#nodes > MAX_NODES) return this.#full(at);
    if (depth > MAX_DEPTH) return this.#refuse(at, TOO_DEEP);
    if (isAlias(node)) {
      this.#targets ??= aliasTargets(this.#document);
      const target = this.#targets.get(node);
      if (!target) return this.#refuse(at, 'No anchor (&name) comes before this alias (*name).', ALIAS_HINT);
      return this.#node(target, at, depth + 1);
    }
    if (node.tag !== undefined) {
      return this.#refuse(at, 'Stack files do not support YAML tags.', 'Remove the tag, or put the text into quotes.');
    }
    if (isMap(node)) return this.#map(node, at, depth);
    if (isSeq(node)) {
      return { kind: 'list', at, items: node.items.map((item) => this.#node(item as ParsedNode, at, depth + 1)) };
    }
    if (isScalar(node)) return this.#scalar(node.value, node.source, at);
    return this.#refuse(at, 'Stack files do not support this kind of value.');
  }

  #scalar(value: unknown, source: string | undefined, at: Where): Located {
    // `key:` without a value is probably a mistake; `key: null` is intended.
    if (value === null && source === '') return this.#refuse(at, NOTHING, EMPTY_HINT);
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return scalar(value, at);
    }
    return this.#refuse(at, 'Stack files do not support this kind of value.');
  }

  #map(node: YAMLMap.Parsed, at: Where, depth: number): Located {
    const entries = new Map<string, Entry>();
    for (const { key, value } of node.items) {
      const keyAt = key?.range ? this.#at(key.range[0]) : at;
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name !== 'string' && typeof name !== 'number') {
        this.#refuse(keyAt, 'A key must be a word or a number.', 'Put it into quotes if it is meant as text.');
      } else if (name === '__proto__') {
        // It has a special meaning in JavaScript and none here.
        this.#findings.add({ code: 'UNKNOWN_FIELD', where: keyAt, detail: '"__proto__" is not a field of anything.' });
      } else if (entries.has(String(name))) {
        // YAML treats 2 and "2" as different keys; users do not.
        this.#refuse(keyAt, 'This key occurs twice in the same map.', 'Keep one of them.');
      } else {
        // `{ a:1 }` is one key, "a:1", without a value.
        const hint = !value && /^\S+:\S/.test(String(name)) ? SPACE_HINT : EMPTY_HINT;
        const inner = value ? this.#node(value as ParsedNode, keyAt, depth + 1) : this.#refuse(keyAt, NOTHING, hint);
        entries.set(String(name), { keyAt, value: inner });
      }
    }
    return { kind: 'map', entries, at };
  }

  /** Reported once: everything after it is too much as well. */
  #full(where: Where): Located {
    if (this.#isFull) return unknownAt(where);
    this.#isFull = true;
    return this.#refuse(where, TOO_LARGE, SPLIT);
  }

  #refuse(where: Where, detail: string, hint?: string): Located {
    this.#findings.add({ code: 'BAD_VALUE', where, detail, hint });
    return unknownAt(where);
  }
}

const ALIAS_HINT = 'Put text that begins with * into quotes.';
const NOTHING = 'This key has no value.';
const SPACE_HINT = 'Put a space after the ":" between a key and its value.';
const EMPTY_HINT = 'Write a value, remove the line, or write null to undo a default.';
