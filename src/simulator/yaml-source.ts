/** Text in YAML (or JSON, which is YAML too) with the positions of its values, so that problems can point at a line. */
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { ProxwrightError } from '../base/errors.ts';

export interface YamlSource {
  readonly value: unknown;
  /** Of a value or, if it has none, of its nearest parent. `key`: of the key instead of its value. */
  position(path: readonly PropertyKey[], options?: { readonly key?: boolean }): Position | undefined;
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

export function parseYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const [error] = document.errors;
  if (error) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file, ...at(error.pos[0]) },
      detail: `This is not valid YAML: ${error.message.replace(/\.?$/, '.')}`,
    });
  }
  return {
    value: toValue(document, file),
    position: (path, options = {}) => {
      const offset = offsetOf(document, path, options.key ?? false);
      return offset === undefined ? undefined : at(offset);
    },
  };
}

function toValue(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases that refer to nothing or multiply without end.
    const detail = error instanceof Error ? error.message : String(error);
    throw new ProxwrightError({ code: 'BAD_VALUE', where: { file }, detail: `${detail.replace(/\.?$/, '.')}` });
  }
}

function offsetOf(document: Document, path: readonly PropertyKey[], wantsKey: boolean): number | undefined {
  for (let depth = path.length; depth >= 0; depth--) {
    const parts = path.slice(0, depth);
    if (wantsKey && depth === path.length) {
      const offset = keyOffset(document, parts);
      if (offset !== undefined) return offset;
    }
    const node: unknown = depth === 0 ? document.contents : document.getIn(numericKeys(document, parts), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return undefined;
}

function keyOffset(document: Document, path: readonly PropertyKey[]): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(numericKeys(document, path.slice(0, -1)), true);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => String(isScalar(key) ? key.value : key) === String(path.at(-1)));
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

/** A key such as `100:` is a number in YAML and text everywhere else. */
function numericKeys(document: Document, path: readonly PropertyKey[]): unknown[] {
  const found: unknown[] = [];
  for (const part of path) {
    const isPresent = document.hasIn([...found, part]);
    found.push(isPresent || Number.isNaN(Number(part)) ? part : Number(part));
  }
  return found;
}
