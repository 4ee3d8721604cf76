/** The whole way from a loaded file to a resolved stack, gathering every problem on the way. */
import type { Address } from '../base/address.ts';
import type { Diagnostic, Where } from '../base/diagnostics.ts';
import { evaluate, type Scope } from './expressions.ts';
import { Findings } from './findings.ts';
import { expandGroup, type Group } from './groups.ts';
import { checkShape } from './issues.ts';
import type { LoadedStack } from './load.ts';
import { describeKind, type Entry, type LocatedMap, quote } from './located.ts';
import { reportUnusedOverrides, resolveAfter, resolveFormerly } from './order.ts';
import { checkRules } from './rules/index.ts';
import { readConnection, readDefaults, readOutputs, readRollout, refuseImagesAndTemplates } from './sections.ts';
import { groupNameSchema, stackFileSchema, stackNameSchema } from './stack-schema.ts';
import { didYouMean } from './suggest.ts';
import type { ResolvedStack } from './types.ts';
import type { VariableInputs } from './variable-values.ts';
import { readVariables } from './variables.ts';
import { type Candidate, parseMember } from './vm.ts';

export interface Resolution {
  /** Absent where there are errors; warnings do not stand in its way. */
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
}

export function resolveStack(loaded: LoadedStack, inputs: VariableInputs = {}): Resolution {
  if (!loaded.root) return { diagnostics: loaded.diagnostics };
  const findings = new Findings(loaded.diagnostics);
  const stack = resolve(loaded.root, { file: loaded.file, line: 1, column: 1 }, inputs, findings);
  return { ...(!findings.hasErrors && { stack }), diagnostics: findings.list() };
}

function resolve(root: LocatedMap, start: Where, inputs: VariableInputs, findings: Findings): ResolvedStack {
  checkTopLevel(root, start, findings);
  const variables = readVariables(root.entries.get('variables'), start, inputs, findings);
  const name = readName(root.entries.get('stack'), { variables }, findings);
  const scope: Scope = { variables, stack: name };
  const section = (key: string): Entry | undefined => {
    const entry = root.entries.get(key);
    return entry && { ...entry, value: evaluate(entry.value, scope, findings) };
  };
  const connection = readConnection(section('connection'), findings);
  const rollout = readRollout(section('rollout'), start, findings);
  const outputs = readOutputs(section('outputs'), findings);
  refuseImagesAndTemplates(section('images'), section('templates'), findings);

  const defaults = readDefaults(root.entries.get('defaults'), root, findings);
  const context = { defaults, scope, maxMembers: rollout.limits.groupSize, findings };
  const groups = readGroups(root.entries.get('vms'), findings).map(([group, entry]) =>
    expandGroup(group, entry, context),
  );
  const candidates = readVms(groups, findings);
  checkRules(candidates.real, candidates.specimens, outputs, findings);
  return { name, connection, images: [], templates: [], vms: candidates.real.map(({ vm }) => vm), rollout, outputs };
}

/** Unknown sections, and the two keys that every file has. */
function checkTopLevel(root: LocatedMap, start: Where, findings: Findings): void {
  const known = Object.keys(stackFileSchema.shape);
  for (const [key, { keyAt }] of root.entries) {
    if (known.includes(key)) continue;
    const hint = didYouMean(key, known);
    findings.add({
      code: 'UNKNOWN_FIELD',
      where: keyAt,
      detail: `${quote(key)} is not a section of a stack file.`,
      hint,
    });
  }
  for (const [key, example] of [
    ['version', '1'],
    ['stack', 'NAME'],
  ]) {
    if (key === undefined || root.entries.has(key)) continue;
    findings.add({
      code: 'BAD_VALUE',
      where: start,
      detail: `"${key}" is missing.`,
      hint: `Write ${key}: ${example} at the top of the file.`,
    });
  }
  const version = root.entries.get('version')?.value;
  if (version && version.kind !== 'unknown' && !(version.kind === 'scalar' && version.value === 1)) {
    findings.add({
      code: 'BAD_VALUE',
      where: version.at,
      detail: `"version" is ${describeKind(version)}; this Proxwright reads version 1 of the format.`,
      hint: 'Write version: 1, or use a Proxwright that knows the other version.',
    });
  }
}

function readName(entry: Entry | undefined, scope: Scope, findings: Findings): string {
  if (!entry) return '';
  const value = evaluate(entry.value, scope, findings);
  return checkShape(stackNameSchema, value, { subject: '"stack"', keyAt: entry.keyAt, findings }) ?? '';
}

function readGroups(entry: Entry | undefined, findings: Findings): readonly [string, Entry][] {
  if (!entry || entry.value.kind === 'unknown') return [];
  if (entry.value.kind !== 'map') {
    findings.add({
      code: 'BAD_VALUE',
      where: entry.value.at,
      detail: `"vms" must be a map from group names to fields; it is ${describeKind(entry.value)}.`,
    });
    return [];
  }
  return [...entry.value.entries].filter(([name, { keyAt }]) => {
    const result = groupNameSchema.safeParse(name);
    for (const { message } of result.error?.issues ?? []) {
      findings.add({ code: 'BAD_VALUE', where: keyAt, detail: `${quote(name)} cannot name a group: ${message}.` });
    }
    return result.success;
  });
}

function readVms(
  groups: readonly Group[],
  findings: Findings,
): { real: readonly Candidate[]; specimens: readonly Candidate[] } {
  const after = resolveAfter(groups, findings);
  const formerly = resolveFormerly(groups, findings);
  const relations = (address: Address) => ({ after: after.get(address) ?? [], formerly: formerly.get(address) ?? [] });
  const real = groups.flatMap(({ members }) =>
    members.map((member) => parseMember(member, relations(member.address), findings)),
  );
  const specimens = groups.flatMap(({ specimen }) =>
    specimen ? [parseMember(specimen, { after: [], formerly: [] }, findings)] : [],
  );
  reportUnusedOverrides(groups, new Set(real.map(({ vm }) => vm.fields.name)), findings);
  return { real, specimens };
}
