import { describe, expect, it } from 'vitest';
import type { GuestInterface } from '../../../pve/index.ts';
import { expectedAddresses, hasAddress, type NicIdentity, reportedAddresses } from './addresses.ts';

const MAC = 'BC:24:11:00:00:01';
const OTHER_MAC = 'BC:24:11:00:00:02';

/** As the agent prints it: lower case, addresses with the length of their network. */
function card(name: string, mac: string, ...cidrs: string[]): GuestInterface {
  return {
    name,
    'hardware-address': mac.toLowerCase(),
    'ip-addresses': cidrs.map((cidr) => {
      const [address = '', length = ''] = cidr.split('/');
      return {
        'ip-address': address,
        'ip-address-type': address.includes(':') ? ('ipv6' as const) : ('ipv4' as const),
        prefix: Number(length),
      };
    }),
  };
}

const LOOPBACK = card('lo', '00:00:00:00:00:00', '127.0.0.1/8', '::1/128');
const LINK_LOCAL = 'fe80::be24:11ff:fe00:1/64';

function net0(interfaces: readonly GuestInterface[], expected: readonly string[] = []) {
  return reportedAddresses([{ slot: 'net0', mac: MAC, expected }], interfaces).net0;
}

describe('the addresses of a NIC', () => {
  it.each<[string, GuestInterface[], string[]]>([
    ['the one address', [card('eth0', MAC, '10.0.20.11/24', LINK_LOCAL)], ['10.0.20.11']],
    ['no loopback, even on its MAC', [card('eth0', MAC, '127.0.0.53/8', '::1/128', '10.0.20.11/24')], ['10.0.20.11']],
    ['no link-local address of either kind', [card('eth0', MAC, '169.254.7.7/16', LINK_LOCAL)], []],
    [
      'nothing of docker0 and cni0, which have other MACs',
      [
        card('docker0', '02:42:d4:00:00:01', '172.17.0.1/16'),
        card('cni0', '0a:58:0a:2a:00:01', '10.42.0.1/24'),
        card('eth0', MAC, '192.168.1.7/24'),
      ],
      ['192.168.1.7'],
    ],
    [
      'a bridge of the guest that has the MAC of the card',
      [card('eth0', MAC), card('br0', MAC, '10.0.20.11/24')],
      ['10.0.20.11'],
    ],
    [
      'the /32 of a virtual address last',
      [card('eth0', MAC, '10.0.20.10/32', '10.0.20.11/24')],
      ['10.0.20.11', '10.0.20.10'],
    ],
    [
      'a public address before a private /32',
      [card('eth0', MAC, '10.0.20.10/32', '203.0.113.9/24')],
      ['203.0.113.9', '10.0.20.10'],
    ],
    [
      'a /32 where there is nothing else',
      [card('eth0', MAC, '203.0.113.9/32', '2001:db8::9/64')],
      ['203.0.113.9', '2001:db8::9'],
    ],
    [
      'a private address before a public one',
      [card('eth0', MAC, '203.0.113.9/24', '192.168.1.7/24')],
      ['192.168.1.7', '203.0.113.9'],
    ],
    ['a public address where there is no private one', [card('eth0', MAC, '203.0.113.9/24')], ['203.0.113.9']],
    [
      '172.31.x as private',
      [card('eth0', MAC, '203.0.113.9/24', '172.31.255.254/12')],
      ['172.31.255.254', '203.0.113.9'],
    ],
    ['172.32.x as public', [card('eth0', MAC, '172.32.0.1/16', '10.0.20.11/24')], ['10.0.20.11', '172.32.0.1']],
    ['172.15.x as public', [card('eth0', MAC, '172.15.0.1/16', '172.16.0.1/16')], ['172.16.0.1', '172.15.0.1']],
    ['192.169.x as public', [card('eth0', MAC, '192.169.0.1/16', '192.168.0.1/16')], ['192.168.0.1', '192.169.0.1']],
    ['IPv4 before IPv6', [card('eth0', MAC, '2001:db8::9/64', '203.0.113.9/24')], ['203.0.113.9', '2001:db8::9']],
    ['IPv6 alone', [card('eth0', MAC, LINK_LOCAL, '2001:db8::9/128')], ['2001:db8::9']],
    ['each address once', [card('eth0', MAC, '10.0.20.11/24'), card('br0', MAC, '10.0.20.11/24')], ['10.0.20.11']],
    ['nothing that is no address', [card('eth0', MAC, 'fe80::1%4/64', '0.0.0.0/0')], []],
    ['nothing before the network is up', [{ ...card('eth0', MAC), 'ip-addresses': undefined }], []],
    [
      'nothing of interfaces without a MAC',
      [{ ...card('tun0', MAC, '10.8.0.2/24'), 'hardware-address': undefined }],
      [],
    ],
    ['nothing where there is no interface', [], []],
  ])('are %s', (_name, interfaces, addresses) => {
    expect(net0([LOOPBACK, ...interfaces])).toEqual(addresses);
  });

  it('start with the address in the stack, even if it is public or a /32', () => {
    const interfaces = [card('eth0', MAC, '10.0.20.11/24', '203.0.113.9/32', '2001:db8::9/64')];
    expect(net0(interfaces, ['203.0.113.9'])?.[0]).toBe('203.0.113.9');
    expect(net0(interfaces, ['2001:DB8:0::9'])?.[0]).toBe('2001:db8::9');
  });

  it('are matched by MAC address, not by the order of the guest', () => {
    const nics: NicIdentity[] = [
      { slot: 'net0', mac: MAC, expected: [] },
      { slot: 'net1', mac: OTHER_MAC.toLowerCase(), expected: [] },
      { slot: 'net2', mac: 'BC:24:11:00:00:03', expected: [] },
    ];
    const interfaces = [card('eth1', OTHER_MAC, '10.1.0.2/24'), LOOPBACK, card('eth0', MAC, '10.0.0.1/24')];
    expect(reportedAddresses(nics, interfaces)).toEqual({ net0: ['10.0.0.1'], net1: ['10.1.0.2'], net2: [] });
  });

  it('are those of the stack if the guest cannot be asked', () => {
    const nics = [
      { slot: 'net0', mac: MAC, expected: ['10.0.20.11'] },
      { slot: 'net1', mac: OTHER_MAC, expected: [] },
    ];
    expect(expectedAddresses(nics)).toEqual({ net0: ['10.0.20.11'], net1: [] });
  });
});

describe('a NIC has its address', () => {
  const given = { slot: 'net0', mac: MAC, expected: ['10.0.20.11', 'fd00::11'] };

  it.each<[NicIdentity, string[], boolean]>([
    [{ ...given, expected: [] }, ['10.0.0.99'], true],
    [{ ...given, expected: [] }, [], false],
    [given, ['10.0.20.11'], true],
    [given, ['FD00:0::11'], true],
    [given, ['10.0.0.99'], false],
  ])('%#: if the stack sets none, or this one', (nic, known, has) => {
    expect(hasAddress(nic, { net0: known })).toBe(has);
    expect(hasAddress(nic, {})).toBe(false);
  });
});
