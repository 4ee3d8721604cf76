/**
 * What the state of a configuration records about its resources: their instances in every use of a module, with their
 * ids.
 */
import type { Value } from '../../stack/value.ts';
import type { StateResource } from '../../state.ts';
import type { Module } from '../module.ts';

export interface KnownInstance {
  /** Of the module and the key, around the address of a resource: `module.a["x"].` and `[0]`. */
  readonly before: string;
  readonly after: string;
  readonly values: { readonly [name: string]: Value };
}

/** A use of a module, from a root. */
interface Use {
  readonly root: string;
  /** `module.a.module.b`, or empty. */
  readonly address: string;
}

/** Limits a module that uses itself. */
const MAX_DEPTH = 20;

export class KnownState {
  private readonly uses = new Map<string, Use[]>();
  private readonly byAddress = new Map<string, readonly StateResource[]>();

  constructor(resources: readonly StateResource[], modules: readonly Module[]) {
    for (const resource of resources) {
      const key = `${withoutKeys(resource.module)} ${resource.address}`;
      this.byAddress.set(key, [...(this.byAddress.get(key) ?? []), resource]);
    }
    const byDirectory = new Map(modules.map((module) => [module.directory, module]));
    const used = new Set(modules.flatMap((module) => calls(module).map(({ directory }) => directory)));
    for (const { directory } of modules)
      if (!used.has(directory)) this.follow({ root: directory, address: '' }, directory, byDirectory);
  }

  private follow(use: Use, directory: string, modules: ReadonlyMap<string, Module>, depth = 0): void {
    const module = modules.get(directory);
    if (!module || depth > MAX_DEPTH) return;
    this.uses.set(directory, [...(this.uses.get(directory) ?? []), use]);
    for (const call of calls(module)) {
      const address = [use.address, `module.${call.name}`].filter(Boolean).join('.');
      this.follow({ root: use.root, address }, call.directory, modules, depth + 1);
    }
  }

  /** The directory of the one root that uses the module. Undefined: there are several, and the state belongs to one. */
  rootOf({ directory }: Module): string | undefined {
    const roots = new Set((this.uses.get(directory) ?? []).map(({ root }) => root));
    return roots.size === 1 ? [...roots][0] : undefined;
  }

  /** Of all instances, if it is the same text. */
  valueOf(module: Module, resource: string, attribute: string): string | undefined {
    const values = new Set(this.instancesOf(module, resource).map((each) => each.values[attribute]));
    const [value] = values;
    return values.size === 1 && typeof value === 'string' && value !== '' ? value : undefined;
  }

  /** By the type and the name. */
  instancesOf({ directory }: Module, resource: string): readonly KnownInstance[] {
    const addresses = new Set((this.uses.get(directory) ?? []).map(({ address }) => address));
    return [...addresses].flatMap((address) =>
      (this.byAddress.get(`${address} ${resource}`) ?? []).map(({ module, index, values }) => ({
        before: module === '' ? '' : `${module}.`,
        after: index === undefined ? '' : `[${JSON.stringify(index)}]`,
        values,
      })),
    );
  }
}

/** Of the modules that are converted as well. */
function calls(module: Module): readonly { readonly name: string; readonly directory: string }[] {
  return module.calls().flatMap(({ name, directory }) => (directory === undefined ? [] : [{ name, directory }]));
}

/** `module.a["x"].module.b[0]` → `module.a.module.b`. */
function withoutKeys(module: string): string {
  return module.replace(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, '');
}
