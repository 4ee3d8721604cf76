import { describe, expect, it } from 'vitest';
import { testDeps } from '../testing/deps.ts';
import { stateView } from './state.ts';

function saidAfterForgetting(released: boolean | undefined): string {
  const said: string[] = [];
  const { deps } = testDeps();
  const terminal = { ...deps.terminal, success: (text: string) => void said.push(text) };
  stateView({ ...deps, terminal }).forgotten('vm.web', 101, released);
  return said.join('\n');
}

describe('the answer of state forget', () => {
  it('does not claim a line in the notes of a VM that was not read', () => {
    const said = saidAfterForgetting(undefined);
    expect(said).toMatch(/^vm\.web is no longer in the state\. If VM 101 is still the one that was recorded, it keeps/);
    expect(said).toContain('proxwright import vm.web 101');
    expect(said).toContain('If another VM has the ID 101 now, there is nothing left to do.');
  });

  it('says whether there was a line to remove', () => {
    expect(saidAfterForgetting(true)).toContain('VM 101 no longer has an ownership line.');
    expect(saidAfterForgetting(false)).toContain('No VM 101 of this stack exists');
  });
});
