/** The stacks that `init` writes. Each runs on the cluster of `proxwright sim`; tests see to that. */
import { K3S } from './k3s.ts';
import { RANCHER } from './rancher.ts';
import { TALOS } from './talos.ts';
import { UBUNTU } from './ubuntu.ts';

export const EXAMPLES: Readonly<Record<string, string>> = {
  ubuntu: UBUNTU,
  k3s: K3S,
  talos: TALOS,
  rancher: RANCHER,
};
