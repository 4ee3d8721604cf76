/** Prints a file from its tree: every node in its place, and between them only text without nodes. */
import { type Body, childrenOf, type Expression, type Item, type Span } from '../syntax.ts';

/** White space, comments, punctuation, names and operators: the text between nodes. */
const BETWEEN =
  /^(?:\s|\u{FEFF}|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[[\]{}()=:,.?*~$%!<>&|+/"-]|[\p{ID_Start}_][\p{ID_Continue}-]*|\.\.\.|\d+)*$/u;

export function printed(source: string, body: Body): string {
  return inOrder(source, { start: 0, end: source.length }, body.items.map(itemNode));
}

interface Node extends Span {
  /** Its own text, where it has no nodes inside. */
  readonly isLeaf: boolean;
  readonly inner: readonly Node[];
}

function itemNode(item: Item): Node {
  const inner =
    item.kind === 'attribute'
      ? [expressionNode(item.value)]
      : [...item.labels.map((label) => ({ ...label, isLeaf: true, inner: [] })), ...item.body.items.map(itemNode)];
  return { start: item.start, end: item.end, isLeaf: false, inner };
}

function expressionNode(expression: Expression): Node {
  const children =
    expression.kind === 'template'
      ? expression.parts.map((part) => ({
          start: part.start,
          end: part.end,
          isLeaf: part.kind === 'text',
          inner: part.kind !== 'text' && part.value ? [expressionNode(part.value)] : [],
        }))
      : childrenOf(expression).map(expressionNode);
  const isLeaf = expression.kind === 'literal' || expression.kind === 'variable';
  return { start: expression.start, end: expression.end, isLeaf, inner: children };
}

function inOrder(source: string, span: Span, nodes: readonly Node[]): string {
  let at = span.start;
  let text = '';
  const gap = (end: number) => {
    const between = source.slice(at, end);
    if (end < at || !BETWEEN.test(between)) throw new Error(`not covered by a node: ${JSON.stringify(between)}`);
    text += between;
  };
  for (const node of nodes) {
    gap(node.start);
    text += node.isLeaf ? source.slice(node.start, node.end) : inOrder(source, node, node.inner);
    at = node.end;
  }
  gap(span.end);
  return text;
}
