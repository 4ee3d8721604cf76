import { describe, expect, it } from 'vitest';
import { advice, command, setting } from '../../base/hint.ts';
import { inHostLanguage } from './host-language.ts';

describe('a hint in the language of the host', () => {
  it.each([
    [advice`Write ${setting('cloud_init', { storage: '…' })}.`, 'Write cloud_init = { storage = … }.'],
    [
      advice`Boot from the network (${setting('boot', ['net0'])}), or say ${setting('power', 'stopped')}.`,
      'Boot from the network (boot = ["net0"]), or say power = "stopped".',
    ],
    [
      advice`Take it out (${setting('storage', null)}), ${setting('protection', false)}`,
      'Take it out (storage = null), protection = false',
    ],
    [advice`Let it install itself: ${setting('install', {})}.`, 'Let it install itself: install = {}.'],
    [advice`Set ${setting('connection.fingerprint', 'AA:BB')}.`, 'Set the provider’s fingerprint = "AA:BB".'],
    [advice`Set ${setting('connection.ca')}.`, 'Set the provider’s ca.'],
    [advice`Allow more: ${setting('rollout.timeouts.lock')}.`, 'Allow more: the provider’s rollout.timeouts.lock.'],
    [
      { text: 'It has: scsi0, net0. As in a .pub file: power: stopped.' },
      'It has: scsi0, net0. As in a .pub file: power: stopped.',
    ],
  ])('has settings as HCL: %j', (hint, text) => expect(inHostLanguage(hint)).toBe(text));

  it.each([
    [command('import', 'vm.web[2]', 101), 'terraform import ADDRESS 101'],
    [command('import', 'vm.web', 'ID'), 'terraform import ADDRESS NODE/VMID'],
    [
      command('import', 'vm.web', 101, '--accept-identity'),
      'terraform state rm ADDRESS, then terraform import ADDRESS 101',
    ],
    [command('apply', '--replace', 'vm.web'), 'terraform apply -replace=ADDRESS'],
    [command('apply'), 'terraform apply'],
    [command('plan'), 'terraform plan'],
    [command('state forget', 'vm.web'), 'terraform state rm ADDRESS'],
    [command('state mv', 'vm.a', 'vm.b'), 'terraform state mv OLD NEW'],
    [command('state recover'), 'terraform import ADDRESS NODE/VMID'],
    [command('permissions'), 'proxwright permissions'],
  ])('has commands of the host: %j', (part, text) => expect(inHostLanguage(advice`Run: ${part}`)).toBe(`Run: ${text}`));

  it('puts a long setting on separate lines, which the host does not wrap and the reader can paste', () => {
    const fingerprint = 'AA:'.repeat(32).slice(0, -1);
    expect(inHostLanguage(advice`Set ${setting('connection.fingerprint', fingerprint)} (or the variable).`)).toBe(
      `Set the provider’s\n\n  fingerprint = "${fingerprint}"\n\n(or the variable).`,
    );
    const value = { scsi0: { image: '…', storage: 'local-lvm', size: '20GiB', ssd: true } };
    expect(inHostLanguage(advice`Give it a disk: ${setting('disks', value)} Then apply.`)).toBe(
      'Give it a disk:\n\n  disks = { scsi0 = { image = …, storage = "local-lvm", size = "20GiB", ssd = true } }\n\nThen apply.',
    );
  });
});
