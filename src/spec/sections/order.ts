/** Relations between members and groups: `after`, `formerly`, and overrides that match no member. */

import { type Address, parseAddress, toAddress, vmAddress } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import { advice, setting } from '../../base/hint.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { child, type Located, quote } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import type { Group, Member } from './groups.ts';

/** For each VM, the VMs that must be ready before it. A cycle is reported, and then nothing waits. */
export function resolveAfter(groups: readonly Group[], findings: Findings): ReadonlyMap<Address, readonly Address[]> {
  const result = new Map<Address, readonly Address[]>();
  for (const group of groups) {
    const targets = texts(group.after).flatMap(({ text, at }) => targetsOf(text, at, group, groups, findings));
    for (const { address } of group.members) result.set(address, [...new Set(targets)]);
  }
  const circle = findCircle(groups, findings);
  return circle ? new Map([...result.keys()].map((address) => [address, []])) : result;
}

function targetsOf(
  text: string,
  at: Where,
  from: Group,
  groups: readonly Group[],
  findings: Findings,
): readonly Address[] {
  const named = groups.find(({ name }) => name === groupOf(text));
  const members = named?.members ?? [];
  const exact = members.filter(({ address }) => address === text);
  if (named && named !== from && (isGroupName(text, named) || exact.length > 0)) {
    return (exact.length > 0 ? exact : members).map(({ address }) => address);
  }
  if (named === from) {
    findings.add({ code: 'BAD_VALUE', where: at, detail: `The group ${quote(from.name)} cannot wait for itself.` });
  } else {
    findings.add({
      code: 'MISSING_REFERENCE',
      where: at,
      detail: `"after" names ${quote(text)}, which is neither a group nor a VM of this stack.`,
      hint: didYouMean(text, named ? members.map(({ address }) => address) : groups.map(({ name }) => name)),
    });
  }
  return [];
}

/** `control`, `vm.control` and `vm.control[1]` all refer to the group `control`. */
function groupOf(text: string): string {
  return parseAddress(text)?.group ?? text;
}

function isGroupName(text: string, group: Group): boolean {
  return text === group.name || text === `vm.${group.name}`;
}

/** Groups wait for groups, so a cycle among VMs is a cycle among groups, even if a group is empty. */
function findCircle(groups: readonly Group[], findings: Findings): readonly string[] | undefined {
  const edges = new Map(groups.map((group) => [group.name, texts(group.after).map(({ text }) => groupOf(text))]));
  const settled = new Set<string>();
  const visit = (name: string, trail: readonly string[]): readonly string[] | undefined => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    if (settled.has(name)) return undefined;
    for (const next of edges.get(name) ?? []) {
      const circle = next === name ? undefined : visit(next, [...trail, name]);
      if (circle) return circle;
    }
    settled.add(name);
    return undefined;
  };
  for (const group of groups) {
    const circle = visit(group.name, []);
    if (!circle) continue;
    const first = groups.find(({ name }) => name === circle[0]);
    findings.add({
      code: 'BAD_VALUE',
      where: first?.after?.at ?? group.at,
      detail: `These groups wait for each other in a circle: ${circle.join(' → ')}.`,
      hint: 'Remove one "after".',
    });
    return circle;
  }
  return undefined;
}

/** Former addresses of each VM. */
export function resolveFormerly(
  groups: readonly Group[],
  findings: Findings,
): ReadonlyMap<Address, readonly Address[]> {
  const present = new Set<string>(groups.flatMap(({ members }) => members.map(({ address }) => address)));
  const claimed = new Map<string, Address>();
  const result = new Map<Address, readonly Address[]>();
  for (const { members } of groups) {
    for (const member of members) {
      const former: Address[] = [];
      for (const { text, at } of member.formerly.flatMap(texts)) {
        const address = formerAddress(text, member, members.length);
        const other = address && claimed.get(address);
        const problem = !address
          ? `${quote(text)} is neither a group name nor the address of a VM, or it names one VM for a whole group.`
          : present.has(address)
            ? `${address} is the address of a current VM of this stack, so it cannot be a former one.`
            : other
              ? `${address} cannot have become both ${other} and ${member.address}.`
              : undefined;
        if (problem === undefined && address) {
          claimed.set(address, member.address);
          former.push(address);
        } else {
          findings.add({
            code: 'BAD_VALUE',
            where: at,
            detail: problem ?? '',
            hint: advice`Write the group’s former name. For one VM of a group, write ${setting('overrides', { 1: { formerly: 'vm.NAME' } })}.`,
          });
        }
      }
      result.set(member.address, former);
    }
  }
  return result;
}

function formerAddress(text: string, member: Member, groupSize: number): Address | undefined {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(text)) return vmAddress(text, member.key);
  // The last entries of `formerly` are the member's own; a group of several cannot share one address.
  return groupSize === 1 || member.formerly.length > 1 ? toAddress(text) : undefined;
}

export function reportUnusedOverrides(groups: readonly Group[], names: ReadonlySet<string>, findings: Findings): void {
  for (const { name, members, overrides } of groups) {
    if (!overrides) continue;
    for (const [key, { keyAt }] of overrides.entries.entries) {
      const isNumber = /^\d+$/.test(key);
      // One variable may serve several groups.
      if (overrides.used.has(key) || (!overrides.isInline && names.has(key))) continue;
      const own = members.flatMap(({ tree }) => texts(child(tree, 'name')).map(({ text }) => text));
      findings.add({
        code: 'MISSING_REFERENCE',
        // A group may shrink temporarily; its overrides apply again when it grows.
        severity: isNumber || !overrides.isInline || members.length === 0 ? 'warning' : 'error',
        where: keyAt,
        detail: `The override for ${quote(key)} matches no VM: the group ${quote(name)} currently has ${members.length}.`,
        hint: isNumber ? undefined : didYouMean(key, own),
      });
    }
  }
}

function texts(node: Located | undefined): { readonly text: string; readonly at: Where }[] {
  if (node?.kind === 'list') return node.items.flatMap(texts);
  return node?.kind === 'scalar' && typeof node.value === 'string' ? [{ text: node.value, at: node.at }] : [];
}
