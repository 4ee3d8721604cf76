/** What is observed of HA rules. */
import type { HaRule } from '../../pve/index.ts';
import type { Readable } from '../cluster.ts';

export interface HaRulesObserved {
  /** All HA rules of the cluster; read only where the stack or its state mentions `ha`, and from Proxmox VE 9 on. */
  readonly haRules?: Readable<readonly HaRule[]>;
}

export const NO_HA_RULES: HaRulesObserved = {};
