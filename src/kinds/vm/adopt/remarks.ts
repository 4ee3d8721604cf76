/**
 * What a file cannot express about its VMs: each remark once, with the names of the VMs that it concerns unless it
 * concerns all. Pure.
 */
import type { FoundVm } from './families.ts';

/** Beyond this many names, the rest is counted. */
const NAMED = 4;

export function remarksOn(vms: readonly Pick<FoundVm, 'name' | 'leftOut'>[]): string[] {
  const names = new Map<string, string[]>();
  for (const { name, leftOut } of vms) {
    for (const each of leftOut) {
      const of = names.get(each);
      if (of) of.push(name);
      else names.set(each, [name]);
    }
  }
  return [...names].map(([remark, of]) => (of.length === vms.length ? remark : `${listed(of)}: ${remark}`));
}

function listed(names: readonly string[]): string {
  const rest = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
