/**
 * The operating systems a simulated disk can hold. A profile is data: the duration of each phase, and what it supports.
 * Worlds put one on a volume; copies of the volume keep it.
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

/** Rule [assumed]: Debian's cloud image is like it: cloud-init, no agent. */
export const debianCloudImage: GuestProfile = {
  ...ubuntuCloudImage,
  name: 'debian-cloud',
  os: { id: 'debian', name: 'Debian GNU/Linux', version: '12 (bookworm)', kernel: '6.1.0-35-cloud-amd64' },
};

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

/** Rule [assumed]: cloud-init has fetched and started a package half a minute after the network is up. */
const PACKAGE_MS = 30_000;

/** A guest whose cloud-init installs the agent; one that has it, or has no cloud-init, stays as it is. */
export function withInstalledAgent(guest: GuestProfile): GuestProfile {
  if (!guest.cloudInit || guest.agentMs !== 'none') return guest;
  return { ...guest, agentMs: guest.networkMs + PACKAGE_MS };
}

const GIB = 1024 ** 3;

/**
 * Rule [assumed]: Talos booted from its ISO answers in maintenance mode; with a machine configuration on a NoCloud volume it
 * installs itself within a minute or two. That it then powers off is how template builders configure it.
 */
export const talosInstaller: GuestProfile = {
  ...talos,
  name: 'talos-installer',
  bootMs: 15_000,
  installs: { guest: talos, takesMs: 90_000, needsSeed: true, dataBytes: GIB, afterwards: 'off' },
};

/** Rule [assumed]: Ubuntu's live server with autoinstall data, shut down at the end. */
export const ubuntuInstaller: GuestProfile = {
  ...ubuntuWithAgent,
  name: 'ubuntu-installer',
  bootMs: 30_000,
  agentMs: 'none',
  installs: { guest: ubuntuWithAgent, takesMs: 300_000, needsSeed: true, dataBytes: 4 * GIB, afterwards: 'off' },
};

/** Rule [assumed]: an ISO that has its answers on board needs nothing from outside. */
export const preseededInstaller: GuestProfile = {
  ...ubuntuInstaller,
  name: 'preseeded-installer',
  installs: { guest: ubuntuWithAgent, takesMs: 240_000, needsSeed: false, dataBytes: 2 * GIB, afterwards: 'off' },
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
  [
    debianWithAgent,
    debianCloudImage,
    ubuntuCloudImage,
    ubuntuWithAgent,
    talos,
    talosInstaller,
    ubuntuInstaller,
    preseededInstaller,
    silentAgent,
    neverBoots,
  ].map((profile) => [profile.name, profile]),
);
