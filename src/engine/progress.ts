/** What a run tells about itself while it works. Views render it; nothing in the engine depends on it. */
import type { Address } from '../base/address.ts';
import type { Instant } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';

export type Progress =
  | { readonly kind: 'vm'; readonly at: Instant; readonly address: Address; readonly status: 'waiting' | 'working' }
  | {
      readonly kind: 'step';
      readonly at: Instant;
      readonly address: Address;
      readonly step: string;
      readonly action: string;
      readonly status: 'started' | 'done';
    }
  | {
      readonly kind: 'activity';
      readonly at: Instant;
      readonly address: Address;
      readonly text: string;
      readonly percent: number | undefined;
    }
  | {
      readonly kind: 'vmEnded';
      readonly at: Instant;
      readonly address: Address;
      readonly outcome: 'done' | 'failed' | 'notReady' | 'canceled' | 'skipped';
      readonly problem?: Diagnostic;
    };

export type ProgressListener = (progress: Progress) => void;
