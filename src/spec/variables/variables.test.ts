import { describe, expect, it } from 'vitest';
import { problemsOf, stackOf } from '../testing/resolving.ts';
import type { VariableInputs } from './values.ts';

/** A stack whose only variable, `v`, becomes the files directory or shows in the raw keys of a VM. */
const stack = (declaration: string) => `version: 1
stack: s
variables:
  v: { ${declaration} }
vms:
  web: { name: web, node: pve1, clone: { template: debian }, extra: { vmstatestorage: "\${var.v}" } }
`;
const extraValue = (declaration: string, inputs: VariableInputs) =>
  stackOf(stack(declaration), inputs).vms[0]?.fields.extra?.vmstatestorage;

describe('values', () => {
  it('come from --var before --var-file before the environment before the default', () => {
    const declaration = 'type: string, default: d';
    const environment = { PROXWRIGHT_VAR_v: 'e', HOME: '/root' };
    const files = [
      { name: 'a.yaml', text: 'v: f1' },
      { name: 'b.json', text: '{"v": "f2"}' },
    ];
    expect(extraValue(declaration, {})).toBe('d');
    expect(extraValue(declaration, { environment })).toBe('e');
    expect(extraValue(declaration, { environment, files })).toBe('f2');
    expect(extraValue(declaration, { environment, files, settings: ['v=s1', 'v=s=2'] })).toBe('s=2');
  });

  it.each([
    ['integer', '3', 3],
    ['number', '1.5', 1.5],
    ['bool', 'true', true],
    ['string', '3', '3'],
    ['pci-address', '0000:01:00', '0000:01:00'],
    ['pci-address', '01:00.0', '01:00.0'],
    ['cidr', '10.0.0.0/8', '10.0.0.0/8'],
    ['ip', 'fd00::1', 'fd00::1'],
    ['mac', 'BC:24:11:00:00:01', 'BC:24:11:00:00:01'],
    ['semver', '1.12.4', '1.12.4'],
    ['semver', 'v1.12.4-rc.1', 'v1.12.4-rc.1'],
    ['size', '8GiB', '8GiB'],
    ['duration', '1h30m', '1h30m'],
  ])('of type %s are read from the text %s', (type, text, value) => {
    expect(extraValue(`type: ${type}`, { settings: [`v=${text}`] })).toBe(value);
  });

  it.each([
    ['integer', 'x', 'must be a whole number; it is "x" (from --var v)'],
    ['integer', '1.5', 'must be a whole number; it is 1.5'],
    ['bool', 'yes', 'must be true or false'],
    ['pci-address', '0000:1:0', 'must be a PCI address'],
    ['cidr', '10.0.0.0', 'must be an address with a prefix length'],
    ['ip', '10.0.0.256', 'must be an IP address'],
    ['mac', 'BC:24:11:00:00', 'must be a MAC address'],
    ['semver', '1.12', 'must be a version'],
    ['size', '8', 'must be a size with its unit'],
    ['duration', '30', 'must be a duration with its unit'],
    ['list', '{', 'The value of --var v cannot be read as a list. | Write it as YAML or JSON: [a, b].'],
    ['list', 'a', 'must be a list; it is "a"'],
    ['list, of: integer', '[1, b]', 'element 2, must be a whole number; it is "b"'],
    ['map, of: ip', '{a: 10.0.0.1, b: x}', 'element "b", must be an IP address such as 10.0.20.11; it is "x"'],
    ['map, of: vm', '{web: 3}', 'element "web", must be a map of VM fields; it is 3'],
    ['vm', '[]', 'must be a map of VM fields; it is a list'],
    ['integer, min: 2', '1', 'must be at least 2; it is 1'],
    ['integer, max: 2', '3', 'must be at most 2; it is 3'],
    ['size, max: 4GiB', '5GiB', 'must be at most 4GiB; it is "5GiB"'],
    ['list, max: 1', '[a, b]', 'must be at most 1 elements; it has 2'],
    ['string, pattern: "^a+$"', 'b', 'must match ^a+$; it is "b"'],
  ])('of type %s refuse %s', (type, text, problem) => {
    const problems = problemsOf(stack(`type: ${type}`), { settings: [`v=${text}`] });
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toMatch(/^4:3 error BAD_VALUE/);
  });

  it('in a file are reported at their position in it', () => {
    expect(
      problemsOf(stack('type: integer'), { files: [{ name: 'vars.yaml', text: '# mine\nv: x\nw: 1\n' }] }),
    ).toEqual([
      'vars.yaml:2:4 error BAD_VALUE: The variable "v" must be a whole number; it is "x" (from vars.yaml).',
      'vars.yaml:3:1 error MISSING_REFERENCE: This file sets the variable "w", which the stack does not declare. | Known here: v.',
    ]);
  });

  it('are required without a default', () => {
    expect(problemsOf(stack('type: string'))).toEqual([
      expect.stringContaining(
        '4:3 error MISSING_REFERENCE: The variable "v" has no default, and no value was given. | Give one: --var v=…',
      ),
    ]);
  });

  it('for undeclared names are an error on the command line and a warning in the environment', () => {
    const declaration = 'type: string, default: x';
    expect(problemsOf(stack(declaration), { settings: ['vv=1', 'v'] })).toEqual([
      expect.stringContaining('3:1 error MISSING_REFERENCE: --var gives the variable "vv"'),
      expect.stringContaining('4:3 error BAD_VALUE: --var v has no value. | Write --var v=VALUE.'),
    ]);
    expect(problemsOf(stack(declaration), { environment: { PROXWRIGHT_VAR_other: '1' } })).toEqual([
      expect.stringContaining('3:1 warning MISSING_REFERENCE: PROXWRIGHT_VAR_other in the environment sets'),
    ]);
  });

  it('are never evaluated again', () => {
    expect(extraValue('type: string', { settings: [`v=\${stack}`] })).toBe(`\${stack}`);
    expect(extraValue(`type: string, default: "$\${stack}"`, {})).toBe(`\${stack}`);
  });
});

describe('declarations', () => {
  it.each([
    ['type: integr, default: 1', '"variables.v.type" must be one of'],
    ['type: string, of: ip, default: x', '"of" says what a list or map holds; "v" is of type string.'],
    ['type: integer, pattern: x, default: 1', '"pattern" is for text; "v" is of type integer.'],
    ['type: string, pattern: "(", default: x', '"pattern" of "v" is not a regular expression.'],
    ['type: string, min: 1, default: x', '"min" of "v" is 1, which cannot be compared with values of type string.'],
    ['type: size, max: 4, default: 1GiB', '"max" of "v" is 4, which cannot be compared with values of type size.'],
    [`type: string, default: "\${stack}"`, 'The default of a variable cannot refer to other values.'],
    ['type: integer, default: "1"', 'must be a whole number; it is "1" (from its default)'],
    ['type: string, default: 1', 'must be text; it is 1 (from its default). | Put the value into quotes.'],
    ['default: 1', '"variables.v.type" is missing.'],
  ])('{ %s } are refused, and their uses cause no further problems', (declaration, problem) => {
    expect(problemsOf(stack(declaration))).toEqual([expect.stringContaining(problem)]);
  });

  it('have names that are valid in an environment', () => {
    expect(problemsOf('version: 1\nstack: s\nvariables: { a-b: { type: string, default: x } }')).toEqual([
      expect.stringContaining('3:14 error BAD_VALUE: "a-b" cannot name a variable'),
    ]);
  });
});
