import { describe, expect, it } from 'vitest';
import { resumingWords, typedCommand } from './typed-command.ts';

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

describe('the words that resume a run', () => {
  it('select the same VMs and values, and repeat neither the consent nor a replacement', () => {
    const options = {
      file: 'lab.yaml',
      var: ['password=hunter2'],
      only: ['vm.worker'],
      replace: ['vm.worker'],
      allowRestart: true,
      destroyData: ['db'],
      hooks: false,
      hookAgain: ['vm.worker[1]'],
      allowDelete: true,
      yes: true,
    };
    expect(resumingWords(options, ['--replace', 'vm.worker[3]']).join(' ')).toBe(
      '--file lab.yaml --var password=… --only vm.worker --replace vm.worker[3] --destroy-data db --no-hooks --allow-delete',
    );
  });

  it('contain the options of moves and snapshots', () => {
    const options = { only: ['vm.db'], targetStorage: 'ceph', memory: true, description: 'before 18', start: false };
    expect(resumingWords(options)).toEqual([
      '--only',
      'vm.db',
      '--target-storage',
      'ceph',
      '--memory',
      '--description',
      'before 18',
      '--no-start',
    ]);
  });
});
