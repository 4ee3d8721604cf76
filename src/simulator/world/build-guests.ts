/** The guest profiles of a world: those that are built in, and those that its file describes. */
import { GUEST_PROFILES } from '../guests/profiles.ts';
import type { GuestProfile } from './world.ts';
import type { CompleteWorldFile } from './world-file.ts';

export function buildGuests(file: CompleteWorldFile, fail: (detail: string) => never): Map<string, GuestProfile> {
  const guests = new Map<string, GuestProfile>(GUEST_PROFILES);
  for (const [name, guest] of Object.entries(file.guests)) {
    guests.set(name, {
      name,
      bootMs: guest.boot_ms,
      agentMs: guest.agent_ms,
      agentService: guest.agent_service,
      networkMs: guest.network_ms,
      shutdownMs: guest.shutdown_ms,
      cloudInit: guest.cloud_init,
      os: guest.os,
      ports: guest.ports,
    });
  }
  // Second, because a medium may install a system that is described behind it.
  for (const [name, { installs }] of Object.entries(file.guests)) {
    const own = guests.get(name);
    if (!installs || !own) continue;
    const installed = guests.get(installs.guest);
    if (!installed) {
      const known = [...guests.keys()].join(', ');
      fail(`guests.${name}.installs.guest: there is no guest profile "${installs.guest}"; known are ${known}.`);
    }
    guests.set(name, {
      ...own,
      installs: {
        guest: installed,
        takesMs: installs.takes_ms,
        needsSeed: installs.needs_seed,
        dataBytes: installs.data,
        afterwards: installs.afterwards,
      },
    });
  }
  return guests;
}
