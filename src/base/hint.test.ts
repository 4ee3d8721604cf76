import { describe, expect, it } from 'vitest';
import { advice, command, type HintLanguage, hintIn, redactHint, setting, toHint } from './hint.ts';
import { Secret } from './secret.ts';

const MARKED: HintLanguage = {
  setting: ({ path, value }) => `<${path}=${JSON.stringify(value)}>`,
  command: ({ command: name, args }) => `<${[name, ...args].join(' ')}>`,
};

describe('a hint', () => {
  const both = advice`Write ${setting('bios', 'ovmf')}, or run ${command('import', 'vm.web', 101)}.`;

  it('is text, with its settings and commands as data', () => {
    expect(both).toEqual({
      text: 'Write bios: ovmf, or run proxwright import vm.web 101.',
      set: [{ path: 'bios', value: 'ovmf', at: [6, 16] }],
      run: [{ command: 'import', args: ['vm.web', '101'], at: [25, 53] }],
    });
    expect(both.text.slice(6, 16)).toBe('bios: ovmf');
    expect(both.text.slice(25, 53)).toBe('proxwright import vm.web 101');
    expect(toHint('Try again.')).toEqual({ text: 'Try again.' });
  });

  it('is rendered in another language part by part', () => {
    expect(hintIn(MARKED, both)).toBe('Write <bios="ovmf">, or run <import vm.web 101>.');
    expect(hintIn(MARKED, { text: 'Write bios: ovmf.' })).toBe('Write bios: ovmf.');
  });

  it('can contain other hints with their parts', () => {
    const longer = advice`${both} Or ${'wait'}: ${2} minutes, ${advice`${setting('power', 'stopped')}`}.`;
    expect(longer.text).toBe(`${both.text} Or wait: 2 minutes, power: stopped.`);
    expect(hintIn(MARKED, longer)).toBe(
      'Write <bios="ovmf">, or run <import vm.web 101>. Or wait: 2 minutes, <power="stopped">.',
    );
  });

  it('loses only the part that contains a secret', () => {
    const told = advice`Write ${setting('a', 'hunter22')}, hunter22 or ${setting('b', 1)}.`;
    const clean = redactHint(told, [new Secret('hunter22')]);
    expect(clean.text).not.toContain('hunter22');
    expect(clean.set).toEqual([{ path: 'b', value: 1, at: [clean.text.indexOf('b: 1'), clean.text.length - 1] }]);
  });

  it.each([
    [setting('rollout.retry'), 'rollout.retry'],
    [setting('agent', { enabled: true }), 'agent: { enabled: true }'],
    [setting('install', {}), 'install: {}'],
    [setting('boot', ['scsi0', 'net0']), 'boot: [scsi0, net0]'],
    [setting('ready', null), 'ready: null'],
    [setting('efi', { storage: '…' }), 'efi: { storage: … }'],
    [setting('vmids', '101-120'), 'vmids: 101-120'],
    [setting('iso', 'local:iso/a.iso'), 'iso: "local:iso/a.iso"'],
    [setting('name', '101'), 'name: "101"'],
    [setting('name', 'no'), 'name: "no"'],
  ])('writes a setting as in a stack file: %j', (part, text) => {
    expect(advice`${part}`.text).toBe(text);
  });

  it.each([
    [command('plan'), 'proxwright plan'],
    [command('state forget', 'vm.web[2]'), "proxwright state forget 'vm.web[2]'"],
    [command('import', 'vm.gpu["01:00"]', 101), `proxwright import 'vm.gpu["01:00"]' 101`],
    [command('state restore', "it's"), String.raw`proxwright state restore 'it'\''s'`],
    [command('apply', '--replace', 'image.noble'), 'proxwright apply --replace image.noble'],
  ])('writes a command for a shell: %j', (part, text) => {
    expect(advice`${part}`.text).toBe(text);
  });
});
