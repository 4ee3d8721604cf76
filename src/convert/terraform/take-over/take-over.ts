/**
 * The blocks by which our provider takes over what the former one has in the state. A VM or an image moves; a template becomes
 * another kind of resource, so the former provider forgets it and ours imports it.
 */
import { attributeOf } from '../../hcl/syntax.ts';
import type { DeclaredResource, Module } from '../module.ts';
import type { KnownState } from './known-state.ts';

export const MOVED_FILE = 'proxwright-moved.tf';

const HEAD = '# Takes over what the former provider has in the state. Delete this file after the first apply.\n';

/** The file of these blocks. `before`: of an earlier conversion, which may not be applied yet. */
export function withTakeOvers(before: string | undefined, blocks: readonly string[]): string {
  return [before === undefined ? HEAD : `${before.trimEnd()}\n\n`, blocks.join('\n')].join('');
}

export interface TakeOver {
  /** For the module of the resource. */
  readonly blocks: readonly string[];
  /** Imports, which only a root module may have. */
  readonly imports: readonly string[];
  readonly root: string;
  /** What a person has to do. */
  readonly byHand?: string;
}

export function takeOver(resource: DeclaredResource, to: string, module: Module, state?: KnownState): TakeOver {
  const { type, name } = resource;
  const root = state?.rootOf(module) ?? '';
  if (to !== 'proxwright_template') {
    return { blocks: [`moved {\n  from = ${type}.${name}\n  to   = ${to}.${name}\n}\n`], imports: [], root };
  }
  const blocks = [removedBlock(`${type}.${name}`)];
  const ids = state ? idsByState(resource, module, state) : idsBySource(resource, module);
  if (ids.length > 0) {
    return { blocks, imports: ids.map(([key, id]) => importBlock(key(`${to}.${name}`), id)), root };
  }
  const why = state
    ? 'The state has no such template, or several directories use this module.'
    : 'Name the state with `--state`, and convert writes the import.';
  return {
    blocks,
    imports: [],
    root,
    byHand: `${why} Or import the template by hand: terraform import ${to}.${name} NODE/ID`,
  };
}

type Ids = readonly (readonly [address: (own: string) => string, id: string])[];

function idsBySource({ block }: DeclaredResource, module: Module): Ids {
  const text = (attribute: string) => {
    const value = attributeOf(block.body, attribute)?.value;
    return value?.kind === 'literal' && value.value !== null ? String(value.value) : undefined;
  };
  const [node, vmid] = [text('node_name'), text('vm_id') ?? text('id')];
  const isMany = attributeOf(block.body, 'count') ?? attributeOf(block.body, 'for_each');
  if (node === undefined || vmid === undefined || isMany || module.directory !== '') return [];
  return [[(own) => own, `${node}/${vmid}`]];
}

function idsByState({ type, name }: DeclaredResource, module: Module, state: KnownState): Ids {
  if (state.rootOf(module) === undefined) return [];
  return state.instancesOf(module, `${type}.${name}`).flatMap(({ before, after, values }): Ids => {
    const [node, vmid] = [values.node_name, values.vm_id ?? values.id];
    return node && vmid ? [[(own) => `${before}${own}${after}`, `${node}/${vmid}`]] : [];
  });
}

export function removedBlock(address: string): string {
  return `removed {\n  from = ${address}\n\n  lifecycle {\n    destroy = false\n  }\n}\n`;
}

function importBlock(to: string, id: string): string {
  return `import {\n  to = ${to}\n  id = "${id}"\n}\n`;
}
