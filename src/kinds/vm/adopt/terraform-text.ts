/**
 * Adopted VMs as a Terraform configuration: a resource for each family, with import blocks. Differences between members
 * are in a local map, by the name of the VM. Pure.
 */
import { safeJson, visibleLine } from '../../../base/text/safe-text.ts';
import { type Family, type FoundVm, families, remarksOn } from './families.ts';
import { allLeaves } from './group-lines.ts';
import { isSame, type Leaves, type Tree, treeOf } from './shared-values.ts';

/** HCL that is no literal. */
class Expression {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function terraformText(vms: readonly FoundVm[]): string {
  const blocks = families(vms).map((family) => (family.members.length > 1 ? familyBlock(family) : singleBlock(family)));
  return `${[HEAD, ...blocks].join('\n')}`;
}

const HEAD = `# VMs that existed before this configuration. "terraform plan" shows what applying it does: it imports them.
terraform {
  required_providers {
    proxwright = { source = "proxwright.dev/proxwright/proxwright" }
  }
}

provider "proxwright" {}
`;

function singleBlock({ key, members: [vm] }: Family): string {
  if (!vm) return '';
  const leaves = new Map<string, unknown>([
    ['name', vm.name],
    ['vmid', vm.vmid],
    ['node', vm.node],
    ...plainLeaves(vm),
  ]);
  return `${remarks([vm])}resource "proxwright_vm" "${key}" {
${attributes(treeOf(leaves), 1)}}

import {
  to = proxwright_vm.${key}
  id = "${vm.vmid}"
}
`;
}

function familyBlock({ key, members }: Family): string {
  const local = key.replaceAll('-', '_');
  const all = members.map((vm) => new Map<string, unknown>([['vmid', vm.vmid], ['node', vm.node], ...plainLeaves(vm)]));
  const paths = [...new Set(all.flatMap((leaves) => [...leaves.keys()]))];
  const [first] = all;
  const isShared = (path: string) =>
    path !== 'vmid' && all.every((leaves) => leaves.has(path) && isSame(leaves.get(path), first?.get(path)));
  const varied = paths.filter((path) => !isShared(path));
  const nameOf = (path: string) => path.replaceAll('.', '_').replaceAll('-', '_');
  const rows = members.map((vm, index) => {
    const values = varied.map((path) => `${nameOf(path)} = ${literal(all[index]?.get(path) ?? null, 2)}`);
    return `    ${JSON.stringify(vm.name)} = { ${values.join(', ')} }\n`;
  });
  const leaves: Leaves = new Map<string, unknown>([
    ['for_each', new Expression(`local.${local}`)],
    ['name', new Expression('each.key')],
    ...paths.map((path): [string, unknown] => [
      path,
      isShared(path) ? first?.get(path) : new Expression(`each.value.${nameOf(path)}`),
    ]),
  ]);
  return `locals {
  ${local} = {
${rows.join('')}  }
}

${remarks(members)}resource "proxwright_vm" "${key}" {
${attributes(treeOf(leaves), 1)}}

import {
  for_each = local.${local}
  to       = proxwright_vm.${key}[each.key]
  id       = each.value.vmid
}
`;
}

/** An imported VM has neither `clone` nor `pool` in the state of the host, and both decide how a VM is created. */
function plainLeaves(vm: FoundVm): [string, unknown][] {
  return [...allLeaves(vm)]
    .filter(([path]) => path !== 'pool' && !path.startsWith('clone.'))
    .map(([path, value]): [string, unknown] => [path, unescaped(value)]);
}

/** A stack file writes `$${` for a literal `${`, and so does HCL; \`literal\` escapes it again. */
function unescaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('$${', () => '${');
  return Array.isArray(value) ? value.map(unescaped) : value;
}

function remarks(members: readonly FoundVm[]): string {
  return remarksOn(members)
    .map((each) => `# Not in this file: ${visibleLine(each)}\n`)
    .join('');
}

/** As `terraform fmt` writes it: the values of lines that follow one another are aligned, and longer ones are not. */
function attributes(tree: Tree, depth: number): string {
  const indent = '  '.repeat(depth);
  const lines = Object.entries(tree).map(([key, value]) => [attributeName(key), literal(value, depth)] as const);
  const isLong = (index: number) => lines[index]?.[1].includes('\n') ?? true;
  const widths = lines.map(([name]) => name.length);
  for (let start = 0; start < lines.length; start += 1) {
    if (isLong(start)) continue;
    let end = start;
    while (!isLong(end)) end += 1;
    widths.fill(Math.max(...widths.slice(start, end)), start, end);
    start = end;
  }
  return lines.map(([name, text], index) => `${indent}${name.padEnd(widths[index] ?? 0)} = ${text}\n`).join('');
}

const attributeName = (key: string) => (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? key : JSON.stringify(key));

/** A longer object has a line for each of its attributes. */
const SHORT = 90;

/** Undefined: an object inside of it would be hard to read on the same line. */
function inline(tree: Tree): string | undefined {
  const isFlat = Object.values(tree).every(
    (each) => typeof each !== 'object' || each === null || Array.isArray(each) || each instanceof Expression,
  );
  const values = Object.entries(tree).map(([key, value]) => `${attributeName(key)} = ${literal(value, 0)}`);
  return isFlat ? `{ ${values.join(', ')} }` : undefined;
}

function literal(value: unknown, depth: number): string {
  if (value instanceof Expression) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, depth)).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const short = inline(value as Tree);
    if (short !== undefined && short.length + 2 * depth <= SHORT) return short;
    return `{\n${attributes(value as Tree, depth + 1)}${'  '.repeat(depth)}}`; // a branch of the tree
  }
  return typeof value === 'string'
    ? safeJson(value)
        .replaceAll('${', () => '$${')
        .replaceAll('%{', '%%{')
    : String(value);
}
