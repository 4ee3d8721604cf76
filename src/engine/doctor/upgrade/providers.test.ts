import { describe, expect, it } from 'vitest';
import { checkAutomation } from './checks.ts';
import { compareVersions, PROVIDER_FACTS, providerUses } from './providers.ts';

const LOCK = (source: string, version: string) => `# made by terraform init
provider "registry.terraform.io/${source}" {
  version     = "${version}"
  constraints = ">= 0.1.0"
  hashes = ["h1:abc"]
}
`;
const VERSIONS = (source: string, bound: string) => `terraform {
  required_version = ">= 1.5"
  required_providers {
    proxmox = {
      source  = "${source}"
      version = "${bound}"
    }
  }
}
`;
const to = { version: '9.0' };

describe('provider versions', () => {
  it('are ordered, with release candidates before releases', () => {
    const ordered = [
      '2.9.11',
      '2.9.12',
      '2.9.14',
      '3.0.1-rc9',
      '3.0.1-rc10',
      '3.0.2-rc03',
      '3.0.2-rc04',
      '3.0.2',
      'v3.1',
    ];
    expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered);
  });
});

describe('Terraform files', () => {
  it('yield provider and version, with the line', () => {
    expect(providerUses([{ name: '.terraform.lock.hcl', text: LOCK('telmate/proxmox', '2.9.14') }])).toEqual([
      { file: '.terraform.lock.hcl', line: 2, source: 'telmate/proxmox', version: '2.9.14', isExact: true },
    ]);
    expect(providerUses([{ name: 'versions.tf', text: VERSIONS('bpg/proxmox', '~> 0.70') }])).toEqual([
      { file: 'versions.tf', line: 4, source: 'bpg/proxmox', version: '0.70', isExact: false },
    ]);
    const [oneLine] = providerUses([
      { name: 'main.tf', text: 'x = { version = ">= 0.6, < 1", source = "bpg/proxmox" }' },
    ]);
    expect(oneLine).toMatchObject({ version: '0.6', isExact: false });
  });

  it('count once if the directory has a lock file', () => {
    const files = [
      { name: 'a/versions.tf', text: VERSIONS('bpg/proxmox', '>= 0.70') },
      { name: 'a/.terraform.lock.hcl', text: LOCK('bpg/proxmox', '0.99.0') },
      { name: 'b/versions.tf', text: VERSIONS('bpg/proxmox', '= 0.81.0') },
    ];
    expect(providerUses(files).map(({ file, version }) => `${file} ${version}`)).toEqual([
      'a/.terraform.lock.hcl 0.99.0',
      'b/versions.tf 0.81.0',
    ]);
  });

  it('yield nothing without a version, or for other providers', () => {
    const text =
      'a = { source = "hashicorp/aws" }\nb = { source = "bpg/proxmox" }\nc = { source = "hashicorp/aws", version = "1.0" }';
    expect(checkAutomation({ to, files: [{ name: 'main.tf', text }] })).toEqual([]);
  });
});

describe('the automation check', () => {
  const locked = (source: string, version: string) =>
    checkAutomation({ to, files: [{ name: '.terraform.lock.hcl', text: LOCK(source, version) }] });

  it.each([
    ['telmate/proxmox', '2.9.14', 'bad'],
    ['Telmate/proxmox', '3.0.2-rc03', 'bad'],
    ['bpg/proxmox', '0.81.0', 'warning'],
  ])('%s %s is %s', (source, version, verdict) => {
    expect(locked(source, version)).toMatchObject([
      { verdict, where: { file: '.terraform.lock.hcl', line: 2 }, details: [expect.stringContaining('https://')] },
    ]);
  });

  it.each([
    ['telmate/proxmox', '2.9.11'],
    ['telmate/proxmox', '3.0.2-rc04'],
    ['bpg/proxmox', '0.82.0'],
  ])('%s %s is not known to break', (source, version) => {
    expect(locked(source, version)).toEqual([]);
  });

  it('warns if a constraint allows a version that breaks', () => {
    const files = [{ name: 'versions.tf', text: VERSIONS('telmate/proxmox', '>= 2.9.14') }];
    expect(checkAutomation({ to, files })).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('allows 2.9.14, which') },
    ]);
  });

  it('finds resources for HA groups', () => {
    const files = [{ name: 'ha.tf', text: '\nresource "proxmox_virtual_environment_hagroup" "a" {}' }];
    expect(checkAutomation({ to, files })).toMatchObject([{ verdict: 'bad', where: { file: 'ha.tf', line: 2 } }]);
  });

  it('ignores breaks of later releases', () => {
    const files = [{ name: '.terraform.lock.hcl', text: LOCK('telmate/proxmox', '2.9.14') }];
    expect(checkAutomation({ to: { version: '8.4' }, files })).toEqual([]);
  });

  it('has a source for every fact', () => {
    expect(PROVIDER_FACTS.filter(({ evidence }) => !evidence.startsWith('https://github.com/'))).toEqual([]);
  });
});
