/** Resolves a loaded file to a stack, and collects every problem. */

import type { Address } from '../base/address.ts';
import type { Diagnostic, Where } from '../base/diagnostics.ts';
import { advice, setting } from '../base/hint.ts';
import type { Secret } from '../base/secret.ts';
import { didYouMean } from '../base/text/closest.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { LoadedStack } from './load.ts';
import { describeKind, type Entry, type LocatedMap, quote } from './located.ts';
import { Findings } from './problems/findings.ts';
import { checkShape } from './problems/issues.ts';
import { checkRules } from './rules/index.ts';
import { replaceImages } from './sections/disk-images.ts';
import { expandGroup, type Group, type GroupContext, MAX_VMS, type Member } from './sections/groups.ts';
import { type Images, noteUser, readImages, resolvedImages } from './sections/images.ts';
import { reportUnusedOverrides, resolveAfter, resolveFormerly } from './sections/order.ts';
import { checkApart, readZones } from './sections/placement.ts';
import {
  namedParts,
  readConnection,
  readDefaults,
  readOutputs,
  readRollout,
  readStateSection,
} from './sections/sections.ts';
import { readTemplates } from './sections/templates.ts';
import { type Candidate, parseMember, UNRELATED } from './sections/vm.ts';
import { groupNameSchema, stackFileSchema, stackNameSchema } from './stack-schema.ts';
import { evaluate, type Scope } from './variables/expressions.ts';
import type { VariableInputs } from './variables/values.ts';
import { readVariables } from './variables/variables.ts';

const GROUP_NAMES = { schema: groupNameSchema, word: 'group' };

export interface Resolution {
  /** Absent if there are errors; warnings do not prevent it. */
  readonly stack?: ResolvedStack;
  readonly diagnostics: readonly Diagnostic[];
  /** Values of variables that the file declares as sensitive. */
  readonly secrets: readonly Secret[];
}

export function resolveStack(loaded: LoadedStack, inputs: VariableInputs = {}): Resolution {
  if (!loaded.root) return { diagnostics: loaded.diagnostics, secrets: [] };
  const findings = new Findings(loaded.diagnostics);
  const stack = resolve(loaded.root, { file: loaded.file, line: 1, column: 1 }, inputs, findings);
  return { ...(!findings.hasErrors && { stack }), diagnostics: findings.list(), secrets: findings.secrets };
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
  const state = readStateSection(section('state'), findings);
  const rollout = readRollout(section('rollout'), start, findings);
  const outputs = readOutputs(section('outputs'), findings);
  const images = readImages(section('images'), findings);
  const zones = readZones(section('zones'), findings);

  const defaults = readDefaults(root.entries.get('defaults'), root, findings);
  const templates = readTemplates(root.entries.get('templates'), { defaults, scope, images, findings });
  const context = { defaults, scope, maxMembers: rollout.limits.groupSize, findings };
  const groups = expandGroups(namedParts('vms', root.entries.get('vms'), GROUP_NAMES, findings), context);
  checkApart(groups, findings);
  const { vms, specimens } = readVms(groups, images, findings);
  checkRules({ vms, specimens, templates, images, outputs }, findings);
  return {
    name,
    connection,
    ...(state && { state }),
    images: resolvedImages(images),
    templates: templates.map(({ template }) => template),
    vms: vms.map(({ vm }) => vm),
    ...(zones.length > 0 && { zones }),
    rollout,
    outputs,
  };
}

/** Stops at the group that makes the stack too large. */
function expandGroups(parts: readonly (readonly [string, Entry])[], context: GroupContext): Group[] {
  const groups: Group[] = [];
  let size = 0;
  for (const [name, entry] of parts) {
    const group = expandGroup(name, entry, context);
    size += group.members.length;
    if (size > MAX_VMS) {
      context.findings.add({
        code: 'BAD_VALUE',
        where: entry.keyAt,
        detail: `With this group the stack has more than ${MAX_VMS} VMs.`,
        hint: 'Split it into several stacks.',
      });
      return [];
    }
    groups.push(group);
  }
  return groups;
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
    ['version', 1],
    ['stack', 'NAME'],
  ] as const) {
    if (root.entries.has(key)) continue;
    findings.add({
      code: 'BAD_VALUE',
      where: start,
      detail: `"${key}" is missing.`,
      hint: advice`Write ${setting(key, example)} at the top of the file.`,
    });
  }
  const version = root.entries.get('version')?.value;
  if (version && version.kind !== 'unknown' && !(version.kind === 'scalar' && version.value === 1)) {
    findings.add({
      code: 'BAD_VALUE',
      where: version.at,
      detail: `"version" is ${describeKind(version)}; this version of Proxwright reads version 1 of the format.`,
      hint:
        version.kind === 'scalar' && version.value === '1'
          ? advice`Write the number, without quotes: ${setting('version', 1)}.`
          : advice`Write ${setting('version', 1)}, or use a version of Proxwright that supports it.`,
    });
  }
}

function readName(entry: Entry | undefined, scope: Scope, findings: Findings): string {
  if (!entry) return '';
  const value = evaluate(entry.value, scope, findings);
  return checkShape(stackNameSchema, value, { subject: '"stack"', keyAt: entry.keyAt, findings }) ?? '';
}

function readVms(
  groups: readonly Group[],
  images: Images,
  findings: Findings,
): { vms: readonly Candidate[]; specimens: readonly Candidate[] } {
  const after = resolveAfter(groups, findings);
  const formerly = resolveFormerly(groups, findings);
  const relations = (address: Address) => ({ after: after.get(address) ?? [], formerly: formerly.get(address) ?? [] });
  const read = (member: Member, isReal: boolean): Candidate => {
    const tree = replaceImages(member.tree, member.address, images, findings);
    const candidate = parseMember({ ...member, tree }, isReal ? relations(member.address) : UNRELATED, findings);
    if (isReal) noteUser(images, candidate);
    return candidate;
  };
  const vms = groups.flatMap(({ members }) => members.map((member) => read(member, true)));
  const specimens = groups.flatMap(({ specimen }) => (specimen ? [read(specimen, false)] : []));
  reportUnusedOverrides(groups, new Set(vms.map(({ vm }) => vm.fields.name)), findings);
  return { vms, specimens };
}
