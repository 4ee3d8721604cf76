import { describe, expect, it } from 'vitest';
import { isFamily, type ProxwrightError } from '../../base/errors.ts';
import { FAULT_DESCRIPTIONS } from './described.ts';
import { ALL_FAULT_KINDS, parseRuleFile } from './rule.ts';
import { parseShortForm, printShortForm } from './short-form.ts';

describe('fault rules on the command line', () => {
  it.each([
    ['cut-before', { kind: 'cut-before', match: {} }],
    ['lock:qemu/*/config@2x3', { kind: 'lock', match: { path: 'qemu/*/config' }, at: 2, times: 3, for_ms: 5_000 }],
    ['cut-after:clone@1', { kind: 'cut-after', match: { path: 'clone' }, at: 1 }],
    ['cut-after:POST clone@1', { kind: 'cut-after', match: { method: 'POST', path: 'clone' }, at: 1 }],
    ['unreachable:PUT', { kind: 'unreachable', match: { method: 'PUT' } }],
    ['refuse=503@/4x2', { kind: 'refuse', status: 503, every: 4, times: 2 }],
    ['task-fail=40:qmclone@10%', { kind: 'task-fail', percent: 40, match: { task: 'qmclone' }, probability: 0.1 }],
    ['daemon-down@2m~30s', { kind: 'daemon-down', every_ms: 120_000, for_ms: 30_000 }],
    ['disk-full=local-lvm~500ms', { kind: 'disk-full', storage: 'local-lvm', for_ms: 500 }],
  ])('reads %s', (text, rule) => {
    expect(parseShortForm(text)).toEqual([expect.objectContaining(rule)]);
  });

  it.each([
    'cut-before',
    'lock:qemu/*/config@2x3~5s',
    'cut-after:POST clone@1',
    'unreachable:PUT',
    'refuse=503@/4x2',
    'task-fail=40:qmclone@12.5%',
    'daemon-down@2m~30s',
    'disk-full=local-lvm~500ms',
  ])('prints %s as it was written', (text) => {
    expect(parseShortForm(text).map(printShortForm)).toEqual([text]);
  });

  it('prints a rule with times alone as the first matches', () => {
    expect(parseRuleFile('- { kind: refuse, times: 2 }', 'faults.yaml').map(printShortForm)).toEqual([
      'refuse=500@1x2',
    ]);
  });

  it.each(ALL_FAULT_KINDS)('parses and prints the example of %s unchanged', (kind) => {
    const [rule] = parseShortForm(FAULT_DESCRIPTIONS[kind].example);
    expect(rule?.kind).toBe(kind);
    expect(rule && parseShortForm(printShortForm(rule))).toEqual([rule]);
  });

  it('reads several, separated by commas', () => {
    const rules = parseShortForm(' lock:config@2x3, cut-after:clone@1 ,stranger-id,');
    expect(rules.map((rule) => rule.kind)).toEqual(['lock', 'cut-after', 'stranger-id']);
  });

  it.each([
    ['cut-aftre', 'names no kind of fault: "cut-aftre"', 'Did you mean "cut-after"?'],
    ['banana', 'names no kind of fault', 'Known kinds: lock,'],
    ['lock@sometimes', 'has no meaning behind "@"', '--faults'],
    ['lock~long', 'has no duration behind "~"', '--faults'],
    ['lock=5', 'gives an argument ("5") to "lock", which takes none', '--faults'],
    ['refuse=200', 'is not possible: status', '--faults'],
    ['lock@0', 'is not possible: at', '--faults'],
    ['cut-after~5s', 'is not possible', '--faults'],
    ['Lock!', 'does not have the form', '--faults'],
  ])('rejects %s', (text, detail, hint) => {
    const diagnostic = complaint(() => parseShortForm(text));
    expect(diagnostic).toMatchObject({ code: 'BAD_VALUE', where: { file: '--faults' } });
    expect(diagnostic.detail).toContain(detail);
    expect(diagnostic.hint?.text).toContain(hint);
  });
});

describe('fault rules in a file', () => {
  it('are a list', () => {
    const text = '- kind: lock\n  match: {path: qemu/*/config}\n  every: 3\n- {kind: refuse, status: 503}\n';
    expect(parseRuleFile(text, 'faults.yaml')).toMatchObject([
      { kind: 'lock', match: { path: 'qemu/*/config' }, every: 3 },
      { kind: 'refuse', status: 503, message: 'simulated refusal' },
    ]);
  });

  it.each([
    ['kind: lock', {}, 'is a list'],
    ['- kind: lock\n- kind: nope\n', { line: 2 }, 'Rule 2'],
    ['- kind: lock\n  at: 1\n  every: 2\n', { line: 1 }, 'only one of at, every'],
    ['- kind: lock\n  colour: red\n', { line: 1 }, 'colour'],
    ['- kind: [', { line: 1 }, 'not valid YAML'],
  ])('are rejected with a position: %j', (text, where, detail) => {
    const diagnostic = complaint(() => parseRuleFile(text, 'faults.yaml'));
    expect(diagnostic.where).toMatchObject({ file: 'faults.yaml', ...where });
    expect(diagnostic.detail).toContain(detail);
  });
});

function complaint(act: () => unknown): ProxwrightError['diagnostic'] {
  try {
    act();
  } catch (error) {
    if (isFamily(error, 'spec')) return error.diagnostic;
    throw error;
  }
  throw new Error('nothing was complained about');
}
