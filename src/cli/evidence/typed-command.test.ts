import { describe, expect, it } from 'vitest';
import { typedCommand } from './typed-command.ts';

describe('a command as it can be typed again', () => {
  it('contains its options, and no value of a variable', () => {
    const options = {
      file: 'lab/stack.yaml',
      var: ['password=hunter2=x'],
      varFile: ['my vars.yaml'],
      only: ['vm.worker[2]'],
      allowDelete: true,
      verify: true,
      yes: true,
    };
    expect(typedCommand('apply', options, 'plan.json')).toBe(
      "proxwright apply plan.json --file lab/stack.yaml --var-file 'my vars.yaml' --var password=… --only 'vm.worker[2]' --allow-delete --verify --yes",
    );
  });

  it('is two words without options', () => {
    expect(typedCommand('verify', {})).toBe('proxwright verify');
  });

  it("keeps a quote in a file's name", () => {
    expect(typedCommand('verify', { file: "it's.yaml" })).toBe(`proxwright verify --file 'it'\\''s.yaml'`);
  });
});
