/** The examples that `init` writes. Each runs on a world of `proxwright sim`; tests see to that. */
import type { Example } from './example.ts';
import { FROM_BARE_HOST } from './from-bare-host.ts';
import { K3S_DEV } from './k3s-dev.ts';
import { RANCHER } from './rancher.ts';
import { TALOS_ISO_TEMPLATE } from './talos-iso-template.ts';
import { TALOS_SINGLE_HOST } from './talos-single-host.ts';
import { UBUNTU } from './ubuntu.ts';
import { UBUNTU_STAGGERED } from './ubuntu-staggered.ts';

export const EXAMPLES: Readonly<Record<string, Example>> = {
  ubuntu: UBUNTU,
  'from-bare-host': FROM_BARE_HOST,
  'ubuntu-staggered': UBUNTU_STAGGERED,
  'k3s-dev': K3S_DEV,
  'rancher-5': RANCHER,
  'talos-single-host': TALOS_SINGLE_HOST,
  'talos-iso-template': TALOS_ISO_TEMPLATE,
};

/** Short names, and what was once called so. */
export const OTHER_NAMES: Readonly<Record<string, string>> = {
  k3s: 'k3s-dev',
  rancher: 'rancher-5',
  talos: 'talos-single-host',
};
