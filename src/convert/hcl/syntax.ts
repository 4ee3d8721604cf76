/**
 * The syntax tree of a Terraform file. Every node has its position in the source, so a change can leave all other bytes as
 * they are. Positions count UTF-16 code units, from the start of the text; `end` is exclusive.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Body extends Span {
  readonly items: readonly Item[];
}

/** Of a whole file. */
export interface FileBody extends Body {
  readonly comments: readonly Span[];
}

export type Item = Attribute | Block;

export interface Attribute extends Span {
  readonly kind: 'attribute';
  readonly name: string;
  readonly value: Expression;
}

export interface Block extends Span {
  readonly kind: 'block';
  readonly type: string;
  readonly labels: readonly Label[];
  /** What is between the braces. */
  readonly body: Body;
}

export interface Label extends Span {
  readonly text: string;
}

export type Expression =
  | Literal
  | Template
  | Variable
  | Access
  | Call
  | List
  | ObjectExpression
  | ForExpression
  | Operation
  | Conditional
  | Parentheses;

/** A number, a boolean, null, or a string without interpolation. */
export interface Literal extends Span {
  readonly kind: 'literal';
  readonly value: string | number | boolean | null;
  /** A string in `<<EOT` form. */
  readonly isHeredoc?: true;
}

/** A string with interpolations or directives. */
export interface Template extends Span {
  readonly kind: 'template';
  readonly parts: readonly TemplatePart[];
  readonly isHeredoc?: true;
}

export type TemplatePart =
  | (Span & { readonly kind: 'text'; readonly text: string })
  /** `${…}`. */
  | (Span & { readonly kind: 'interpolation'; readonly value: Expression })
  /** `%{ if … }`, `%{ for … }`, `%{ else }` and the ends of them. */
  | (Span & {
      readonly kind: 'directive';
      readonly word: string;
      readonly value?: Expression;
      readonly names?: readonly string[];
    });

export interface Variable extends Span {
  readonly kind: 'variable';
  readonly name: string;
}

/** `of.name`, `of[key]`, `of[*]` and `of.*`, one step or several. */
export interface Access extends Span {
  readonly kind: 'access';
  readonly of: Expression;
  readonly steps: readonly Step[];
}

export type Step =
  | (Span & { readonly kind: 'attribute'; readonly name: string })
  | (Span & { readonly kind: 'index'; readonly key: Expression })
  | (Span & { readonly kind: 'splat' });

export interface Call extends Span {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly Expression[];
  /** The last argument is followed by `...`. */
  readonly spreads: boolean;
}

export interface List extends Span {
  readonly kind: 'list';
  readonly items: readonly Expression[];
}

export interface ObjectExpression extends Span {
  readonly kind: 'object';
  readonly entries: readonly ObjectEntry[];
}

export interface ObjectEntry extends Span {
  /** A bare word is a literal string here, as in HCL. */
  readonly key: Expression;
  readonly value: Expression;
}

export interface ForExpression extends Span {
  readonly kind: 'for';
  readonly names: readonly string[];
  readonly of: Expression;
  /** Present for `{ for … : key => value }`. */
  readonly key?: Expression;
  readonly value: Expression;
  readonly groups: boolean;
  readonly condition?: Expression;
}

export interface Operation extends Span {
  readonly kind: 'operation';
  readonly operator: string;
  /** One or two of them. */
  readonly operands: readonly Expression[];
}

export interface Conditional extends Span {
  readonly kind: 'conditional';
  readonly condition: Expression;
  readonly yes: Expression;
  readonly no: Expression;
}

export interface Parentheses extends Span {
  readonly kind: 'parentheses';
  readonly value: Expression;
}

/** The expressions directly inside one. */
export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'variable':
      return [];
    case 'template':
      return expression.parts.flatMap((part) => (part.kind !== 'text' && part.value ? [part.value] : []));
    case 'access':
      return [expression.of, ...expression.steps.flatMap((step) => (step.kind === 'index' ? [step.key] : []))];
    case 'call':
      return expression.args;
    case 'list':
      return expression.items;
    case 'object':
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case 'for':
      return [expression.of, expression.key, expression.value, expression.condition].filter(
        (each) => each !== undefined,
      );
    case 'operation':
      return expression.operands;
    case 'conditional':
      return [expression.condition, expression.yes, expression.no];
    case 'parentheses':
      return [expression.value];
  }
}

export function attributeOf(body: Body, name: string): Attribute | undefined {
  return body.items.find((item): item is Attribute => item.kind === 'attribute' && item.name === name);
}

export function blocksOf(body: Body, type: string): readonly Block[] {
  return body.items.filter((item): item is Block => item.kind === 'block' && item.type === type);
}

/** A literal string, wherever an expression is one. */
export function textOf(expression: Expression | undefined): string | undefined {
  return expression?.kind === 'literal' && typeof expression.value === 'string' ? expression.value : undefined;
}
