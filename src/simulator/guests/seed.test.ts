import { describe, expect, it } from 'vitest';
import { readDisc } from '../storage/files/iso9660.ts';
import { isoImage } from '../testing/storage.ts';
import { type Seed, seedNetworkOf, seedOf } from './seed.ts';

function seed(files: Readonly<Record<string, string>>, label = 'cidata'): Seed | undefined {
  const all = { 'user-data': '', 'meta-data': '', ...files };
  return seedOf({ label, files: new Map(Object.entries(all).map(([name, text]) => [name, Buffer.from(text)])) });
}

const MAC = 'bc:24:11:00:00:01';
const networkOf = (text: string, index = 0) => {
  const read = seed({ 'network-config': text });
  return read && seedNetworkOf(read, MAC, index);
};

describe('a NoCloud disc', () => {
  it('counts only with the label in a single case and with both documents', () => {
    expect(seed({}, 'CIDATA')).toBeDefined();
    expect(seed({}, 'CiData')).toBeUndefined();
    expect(seed({}, 'config-2')).toBeUndefined();
    expect(seedOf({ label: 'cidata', files: new Map([['user-data', Buffer.from('')]]) })).toBeUndefined();
  });

  it('made by a real tool is understood', () => {
    const disc = readDisc(isoImage('joliet'));
    const read = disc && seedOf(disc);
    expect(read).toMatchObject({ hostName: 'fixture', hasUserData: true });
    expect(read && seedNetworkOf(read, MAC, 3)?.addresses).toEqual(['10.0.20.30/24']);
  });

  it('takes the host name from user-data before meta-data', () => {
    const metaData = 'local-hostname: meta\n';
    expect(seed({ 'meta-data': metaData })?.hostName).toBe('meta');
    expect(seed({ 'meta-data': metaData, 'user-data': '#cloud-config\nfqdn: web.lab\n' })?.hostName).toBe('web');
    expect(seed({ 'meta-data': metaData, 'user-data': '#!/bin/sh\necho: {\n' })?.hostName).toBe('meta');
  });

  it.each([
    ['#cloud-config\npackages: [vim, qemu-guest-agent]\n', true],
    ['#cloud-config\npackages:\n  - [qemu-guest-agent, "1:8.2"]\n', true],
    ['#cloud-config\npackages: [vim]\n', false],
    ['packages: [qemu-guest-agent]\n', false],
    ['#!/bin/sh\napt-get install qemu-guest-agent\n', false],
  ])('has the agent installed by cloud-init if its user-data is %j: %j', (userData, installsAgent) => {
    expect(seed({ 'user-data': userData })?.installsAgent).toBe(installsAgent);
  });

  it('without a network document uses DHCP on the first card', () => {
    expect(networkOf('')).toMatchObject({ dhcp4: true });
    expect(networkOf('', 1)).toBeUndefined();
  });

  it.each([
    [
      'version 2 by MAC',
      `version: 2\nethernets: { x: { match: { macaddress: "${MAC.toUpperCase()}" }, addresses: [10.0.0.5/24] } }`,
    ],
    ['version 2 by name', 'network: { version: 2, ethernets: { ens18: { addresses: ["10.0.0.5/24"] } } }'],
    [
      'version 1 with a mask',
      `version: 1\nconfig: [{ type: physical, name: eth0, mac_address: "${MAC}", subnets: [{ type: static, address: 10.0.0.5, netmask: 255.255.255.0 }] }]`,
    ],
  ])('sets addresses in %s', (_, text) => {
    expect(networkOf(text)).toMatchObject({ dhcp4: false, addresses: ['10.0.0.5/24'] });
  });

  it('leaves a card alone that it does not mention', () => {
    expect(networkOf('version: 2\nethernets: { ens19: { dhcp4: true } }')).toBeUndefined();
    expect(networkOf('version: 2\nethernets: { ens19: { dhcp4: true } }', 1)).toMatchObject({ dhcp4: true });
  });

  it('may contain a Talos machine configuration, which overrides the network document', () => {
    const userData = [
      'version: v1alpha1',
      'machine:',
      '  network:',
      '    hostname: cp-1',
      `    interfaces: [{ deviceSelector: { hardwareAddr: "${MAC}" }, addresses: [10.0.20.11/24], dhcp: false }]`,
      '---',
      'kind: Other',
    ].join('\n');
    const read = seed({ 'user-data': userData, 'network-config': 'version: 2\nethernets: { eth0: { dhcp4: true } }' });
    expect(read?.hostName).toBe('cp-1');
    expect(read && seedNetworkOf(read, MAC, 0)).toMatchObject({ addresses: ['10.0.20.11/24'], dhcp4: false });
  });
});
