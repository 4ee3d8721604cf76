import { describe, expect, it } from 'vitest';
import { stackOutputs } from './outputs.ts';
import { dnsmasqReservations, iscReservations } from './render.ts';
import { address, known, stackOf, stateOf, vm } from './testing/lab.ts';

/** One that exists, one with a MAC address in the stack that does not, one of which nothing is known, one with two cards. */
const OUTPUTS = stackOutputs(
  stackOf([
    vm('control', 1, { ...address('10.0.20.11') }),
    vm('worker', 1, { nics: { net0: { mac: 'bc:24:11:aa:00:01', ipv4: { address: '10.0.20.21/24' } } } }),
    vm('worker', 2, { nics: { net0: { bridge: 'vmbr0' } } }),
    vm('worker', 3, {}),
  ]),
  stateOf({
    // A lease that it got before its reservation.
    'vm.control[1]': known(101, { addresses: { net0: ['10.0.20.199'] } }),
    'vm.worker[3]': known(113, {
      macs: { net0: 'BC:24:11:00:00:13', net1: 'BC:24:11:00:00:14' },
      addresses: { net0: ['fd00::13'] },
    }),
  }),
);

describe('reservations', () => {
  it('for dnsmasq: MAC, the address that the stack gives or else the one that is known, and the name', () => {
    expect(dnsmasqReservations(OUTPUTS)).toMatchInlineSnapshot(`
      "dhcp-host=bc:24:11:00:00:01,10.0.20.11,lab-control-1
      dhcp-host=bc:24:11:aa:00:01,10.0.20.21,lab-worker-1
      # lab-worker-2: the MAC address of net0 is not known before the VM exists, unless the stack fixes it (nics.net0.mac).
      dhcp-host=bc:24:11:00:00:13,[fd00::13],lab-worker-3
      dhcp-host=bc:24:11:00:00:14,lab-worker-3-net1
      "
    `);
  });

  it('for the DHCP server of ISC', () => {
    expect(iscReservations(OUTPUTS)).toMatchInlineSnapshot(`
      "host lab-control-1 { hardware ethernet bc:24:11:00:00:01; fixed-address 10.0.20.11; }
      host lab-worker-1 { hardware ethernet bc:24:11:aa:00:01; fixed-address 10.0.20.21; }
      # lab-worker-2: the MAC address of net0 is not known before the VM exists, unless the stack fixes it (nics.net0.mac).
      host lab-worker-3 { hardware ethernet bc:24:11:00:00:13; fixed-address6 fd00::13; }
      host lab-worker-3-net1 { hardware ethernet bc:24:11:00:00:14; }
      "
    `);
  });
});
