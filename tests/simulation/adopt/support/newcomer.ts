/** What the command `adopt` does, on a scene: the file is a text here. */

import { recordAdopted } from '../../../../src/cli/commands/adopt/adopt.ts';
import type { ResolvedStack } from '../../../../src/kinds/stack.ts';
import { type Adoption, planAdoption } from '../../../../src/kinds/vm/adopt/adopt.ts';
import { type Choice, readGuests, type Survey } from '../../../../src/kinds/vm/adopt/survey.ts';
import { loadStack, resolveStack } from '../../../../src/spec/index.ts';
import { MemoryStore } from '../../../../src/state/memory-store.ts';
import { readState } from '../../../../src/state/state-file.ts';
import type { StackScene } from '../../support/stack-scene.ts';

export const ALL: Choice = { pools: [], tags: [], nodes: [], names: [], ids: [] };

export class Newcomer {
  readonly lab: StackScene;
  text: string | undefined;

  constructor(lab: StackScene) {
    this.lab = lab;
    this.lab.store = new MemoryStore();
  }

  get stack(): ResolvedStack {
    return read(this.text ?? 'version: 1\nstack: lab\n');
  }

  async adopt(choice: Partial<Choice> = {}): Promise<Adoption | Survey> {
    const { lab, stack, text } = this;
    const { pve } = lab;
    const { signal } = new AbortController();
    const guests = await readGuests(pve, signal);
    const adoption = await planAdoption({
      pve,
      signal,
      guests,
      choice: { ...ALL, ...choice },
      state: await readState(lab.store, 'lab'),
      stack,
      file: 'stack.yaml',
      text,
      claims: false,
      resolve: async (changed) => resolveStack(loadStack(changed, 'stack.yaml')),
    });
    if (!('places' in adoption)) return adoption;
    this.text = adoption.text;
    const observed = new Map(adoption.survey.taken.map((vm) => [vm.vmid, vm]));
    const vms = adoption.places.flatMap(({ address, vm }) => {
      const real = observed.get(vm.vmid);
      return real ? [{ address, observed: real }] : [];
    });
    await recordAdopted({ ...lab.deps('adopt'), pve, signal, stack: adoption.stack, vms, ha: adoption.ha });
    return adoption;
  }
}

function read(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error(diagnostics.map(({ detail }) => detail).join('\n'));
  return stack;
}
