/**
 * Reservations for a DHCP server, one for each network card: which MAC address gets which network address. For guests that
 * are not told their address in another way, such as Talos without a cloud-init drive. An address that is not known is left
 * out, and the server then reserves the name alone.
 */
import type { StackOutputs } from './outputs.ts';
import type { NicView } from './vm-view.ts';

interface Reservation {
  readonly name: string;
  readonly mac: string;
  readonly ip: string | null;
}

/** Lines for a file below `/etc/dnsmasq.d`. */
export function dnsmasqReservations({ vms }: Pick<StackOutputs, 'vms'>): string {
  return lines(vms, ({ name, mac, ip }) => {
    const address = ip?.includes(':') ? `[${ip}]` : ip;
    return `dhcp-host=${[mac, ...(address === null || address === undefined ? [] : [address]), name].join(',')}`;
  });
}

/** Declarations for `dhcpd.conf`. */
export function iscReservations({ vms }: Pick<StackOutputs, 'vms'>): string {
  return lines(vms, ({ name, mac, ip }) => {
    const keyword = ip?.includes(':') ? 'fixed-address6' : 'fixed-address';
    return `host ${name} { hardware ethernet ${mac}; ${ip === null ? '' : `${keyword} ${ip}; `}}`;
  });
}

function lines(vms: StackOutputs['vms'], line: (reservation: Reservation) => string): string {
  return vms
    .flatMap(({ name, nics }) => nics.map((nic, index) => ({ nic, name: index === 0 ? name : `${name}-${nic.slot}` })))
    .map(
      ({ nic, name }) =>
        `${nic.mac === null ? unknownMac(name, nic) : line({ name, mac: nic.mac.toLowerCase(), ip: nic.expected ?? nic.ip })}\n`,
    )
    .join('');
}

function unknownMac(name: string, { slot }: NicView): string {
  return `# ${name}: the MAC address of ${slot} is not known before the VM exists, unless the stack fixes it (nics.${slot}.mac).`;
}
