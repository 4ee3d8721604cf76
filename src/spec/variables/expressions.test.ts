import { describe, expect, it } from 'vitest';
import { type Located, scalar, toPlain } from '../located.ts';
import { Findings } from '../problems/findings.ts';
import { problemsOf, stackOf } from '../testing/resolving.ts';
import { evaluate, type Scope } from './expressions.ts';

const AT = { file: 'stack.yaml', line: 3, column: 7 };
const list: Located = { kind: 'list', at: AT, items: [scalar(1, AT), scalar('b', AT)] };
const scope: Scope = {
  stack: 'demo',
  number: 2,
  variables: new Map([
    ['count', { value: scalar(3, AT), hasPosition: true }],
    ['on', { value: scalar(true, AT), hasPosition: true }],
    ['literal', { value: scalar(`\${stack}`, AT), hasPosition: true }],
    ['list', { value: list, hasPosition: true }],
  ]),
};

function evaluated(text: string, within: Scope = scope) {
  const findings = new Findings();
  const node = evaluate(scalar(text, AT), within, findings);
  return {
    value: toPlain(node),
    problems: findings.list().map(({ code, detail, hint }) => `${code} ${detail} ${hint?.text ?? ''}`),
  };
}

describe('references', () => {
  it.each([
    [`\${var.count}`, 3],
    [`\${ var.count }`, 3],
    [`\${var.on}`, true],
    [`\${var.list}`, [1, 'b']],
    [`\${number}`, 2],
    [`n\${var.count}-\${stack}-\${number}`, 'n3-demo-2'],
    [`$\${stack}`, `\${stack}`],
    [`a$\${b}\${number}`, `a\${b}2`],
    ['$5 and $ and {x}', '$5 and $ and {x}'],
    [`\${var.literal}`, `\${stack}`],
    [`x\${var.literal}`, `x\${stack}`],
  ])('%s becomes %j', (text, value) => {
    expect(evaluated(text)).toEqual({ value, problems: [] });
  });

  it.each([
    [`\${var.cuont}`, /MISSING_REFERENCE There is no variable "cuont" under "variables"\. Did you mean "var.count"\?/],
    [
      `\${count}`,
      /MISSING_REFERENCE \$\{count\} refers to nothing, but there is a variable of that name\. Write \$\{var\.count\}\./,
    ],
    [`\${stak}`, /Did you mean "stack"/],
    [`\${each}`, /This group has no "each"/],
    [`\${}`, /\$\{\} refers to nothing/],
    [`a \${var.list}`, /BAD_VALUE \$\{var\.list\} is a list, which cannot be part of text/],
    [`\${stack`, /BAD_VALUE A reference begins with \$\{ but has no closing \}/],
  ])('%s is refused', (text, problem) => {
    expect(evaluated(text)).toEqual({ value: undefined, problems: [expect.stringMatching(problem)] });
  });

  it('have number only inside a group', () => {
    expect(evaluated(`\${number}`, { stack: 'demo', variables: new Map() }).problems).toEqual([
      expect.stringContaining('has a value only inside a group'),
    ]);
  });

  it('leave values without references unchanged', () => {
    expect(evaluate(list, scope, new Findings())).toBe(list);
  });
});

describe('the name of a stack', () => {
  it('may refer to variables, but not to itself', () => {
    expect(stackOf(`version: 1\nstack: k3s-\${var.env}\nvariables: { env: { type: string, default: dev } }`).name).toBe(
      'k3s-dev',
    );
    expect(problemsOf(`version: 1\nstack: a-\${stack}`)).toEqual([
      '2:8 error MISSING_REFERENCE: The name of the stack cannot refer to itself.',
    ]);
  });
});
