/** Modules that have nothing of ours, or that convert cannot read: they keep the former provider, and nothing else of theirs changes. */
import { describe, expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

const REQUIRED = 'terraform {\n  required_providers {\n    proxmox = { source = "bpg/proxmox" }\n  }\n}\n';
const PROVIDER = 'provider "proxmox" {\n  endpoint = "https://pve.example.org:8006"\n}\n';
const VM = 'resource "proxmox_virtual_environment_vm" "a" {\n  name      = "a"\n  node_name = "pve1"\n}\n';
const CONTAINER = 'resource "proxmox_virtual_environment_container" "b" {\n  node_name = "pve1"\n}\n';

function converted(files: Readonly<Record<string, string>>) {
  const { changed, findings } = convertFiles(new Map(Object.entries(files)));
  return {
    changed: [...changed.keys()].sort(),
    text: (path: string) => changed.get(path) ?? files[path] ?? '',
    said: findings.map(
      ({ kind, file, line, subject, what, why }) => `${kind} ${file}:${line} ${subject} ${what}: ${why}`,
    ),
  };
}

describe('a configuration without VMs', () => {
  it('stays as it is', () => {
    expect(converted({ 'main.tf': `${REQUIRED}${PROVIDER}${CONTAINER}` })).toMatchObject({ changed: [], said: [] });
  });

  it('stays as it is beside one with VMs, and in modules of it', () => {
    const { changed, text } = converted({
      'vms/main.tf': `${REQUIRED}${PROVIDER}${VM}module "boxes" {\n  source    = "../boxes"\n  providers = { proxmox = proxmox }\n}\n`,
      'boxes/main.tf': `${REQUIRED}${CONTAINER}`,
      'other/main.tf': `${REQUIRED}${PROVIDER}module "boxes" {\n  source = "../boxes"\n}\n`,
    });
    expect(changed).toEqual(['vms/main.tf', 'vms/proxwright-moved.tf']);
    expect(text('vms/main.tf')).toContain('providers = { proxmox = proxmox }');
    expect(text('vms/main.tf')).toContain('provider "proxwright"');
  });
});

describe('a module that uses one with VMs', () => {
  it('gets our provider through all levels', () => {
    const { text } = converted({
      'main.tf': `${REQUIRED}${PROVIDER}module "m" {\n  source    = "./a"\n  providers = { proxmox = proxmox }\n}\n`,
      'a/main.tf': `${REQUIRED}module "n" {\n  source = "./b"\n}\n`,
      'a/b/main.tf': `${REQUIRED}${VM}`,
    });
    expect(text('main.tf')).toContain('providers = { proxwright = proxwright }');
    expect(text('a/main.tf')).toContain('proxwright = {');
    expect(text('a/main.tf')).not.toContain('bpg');
  });
});

describe('a module that convert does not read', () => {
  const KEEPS = 'The former provider stays for it.';
  const calling = (lines: string) => ({ 'main.tf': `${REQUIRED}${PROVIDER}module "m" {\n${lines}}\n${VM}` });

  it.each([
    ['by its address', '  source = "example/vm/proxmox"\n', 'review'],
    [
      'by the provider that it gets',
      '  source = "git::https://example.org/vm"\n  providers = { proxmox = proxmox }\n',
      'review',
    ],
    ['because it inherits every provider', '  source = "git::https://example.org/vm"\n', 'note'],
  ])('keeps the former provider: %s', (_, lines, kind) => {
    const { text, said } = converted(calling(lines));
    expect(text('main.tf')).toContain(PROVIDER);
    expect(text('main.tf')).toContain('proxmox = { source = "bpg/proxmox" }');
    expect(text('main.tf')).toContain(`module "m" {\n${lines}}`);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^${kind} main.tf:9 module\\.m .*${KEEPS}$`))]);
  });

  it('is reported if it is outside of the directory, which may have a directory of the same name', () => {
    const { said, changed } = converted({
      'main.tf': `${REQUIRED}${PROVIDER}module "m" {\n  source = "../modules/vm"\n}\n`,
      'modules/vm/main.tf': 'variable "x" {}\n',
    });
    expect(said).toEqual([
      `review main.tf:9 module.m ../modules/vm: Convert did not read this module. Convert a directory that contains both. ${KEEPS}`,
    ]);
    expect(changed).toEqual([]);
  });

  it('is not about another provider', () => {
    const { text, said } = converted(calling('  source = "example/dns/any"\n  providers = { dns = dns }\n'));
    expect(said).toEqual([]);
    expect(text('main.tf')).not.toContain('bpg');
  });

  it('may even use itself', () => {
    const { said } = converted({ 'main.tf': `${REQUIRED}module "m" {\n  source = "./"\n}\n${VM}` });
    expect(said).toEqual([]);
  });
});
