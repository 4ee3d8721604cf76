/**
 * The operating systems a simulated disk can hold. A profile is data: how long each phase of its life takes and what it
 * understands. Worlds put one on a volume; copies of the volume carry it along.
 */
import type { GuestProfile } from '../world/world.ts';

const NO_OS = { id: '', name: '', version: '', kernel: '' };

/** Rule [recorded guest-agent]: the Debian template under software emulation answers its agent about 45 s after power-on. */
export const debianWithAgent: GuestProfile = {
  name: 'debian-agent',
  bootMs: 38_000,
  agentMs: 6_000,
  networkMs: 4_000,
  // Rule [recorded guest-agent]: a shutdown through the agent takes 4 to 5 s.
  shutdownMs: 3_600,
  cloudInit: true,
  os: { id: 'debian', name: 'Debian GNU/Linux', version: '13 (trixie)', kernel: '6.12.107+deb13-amd64' },
  ports: [22],
};

/** Rule [assumed]: a cloud image on a host with KVM boots within seconds; the agent is installed by the user, not by it. */
export const ubuntuCloudImage: GuestProfile = {
  name: 'ubuntu-cloud',
  bootMs: 9_000,
  agentMs: 'none',
  networkMs: 3_000,
  shutdownMs: 2_500,
  cloudInit: true,
  os: { id: 'ubuntu', name: 'Ubuntu', version: '24.04.2 LTS (Noble Numbat)', kernel: '6.8.0-60-generic' },
  ports: [22],
};

export const ubuntuWithAgent: GuestProfile = { ...ubuntuCloudImage, name: 'ubuntu-agent', agentMs: 2_000 };

/** Rule [assumed]: Talos has neither SSH nor an agent; its API answers on 50000 once the network is up. */
export const talos: GuestProfile = {
  name: 'talos',
  bootMs: 12_000,
  agentMs: 'none',
  networkMs: 3_000,
  shutdownMs: 4_000,
  cloudInit: true,
  os: { id: 'talos', name: 'Talos', version: '1.10.4', kernel: '6.12.31-talos' },
  ports: [50_000],
};

/** The agent is installed and enabled, but hangs. */
export const silentAgent: GuestProfile = { ...debianWithAgent, name: 'silent-agent', agentMs: 'silent' };

/** Stops in the boot loader: no user space, no agent, no reaction to the power button. */
export const neverBoots: GuestProfile = {
  name: 'never-boots',
  bootMs: 'never',
  agentMs: 'none',
  networkMs: 0,
  shutdownMs: 'ignored',
  cloudInit: false,
  os: NO_OS,
  ports: [],
};

export const GUEST_PROFILES: ReadonlyMap<string, GuestProfile> = new Map(
  [debianWithAgent, ubuntuCloudImage, ubuntuWithAgent, talos, silentAgent, neverBoots].map((profile) => [
    profile.name,
    profile,
  ]),
);
