/**
 * Rules drawn from a seed. Each seed also switches some kinds off altogether, because quiet runs reach states that
 * noisy ones never reach; and every rule strikes a limited number of times, so that a patient client succeeds in the
 * end.
 */
import { type Random, randomInteger } from '../../base/random.ts';
import { ALL_FAULT_KINDS, type FaultKind, type FaultRuleInput } from './rule.ts';

export interface SeededOptions {
  /** The kinds to draw from; all by default. */
  readonly kinds?: readonly FaultKind[];
  /** Chance that a kind takes part, 0 to 1. */
  readonly density?: number;
}

const DOWNLOAD_FAILURES = ['unresolvable', 'refused', 'status', 'cut', 'cut-once', 'content'] as const;
const REFUSALS = [500, 500, 503, 502] as const;

export function seededRules(random: Random, options: SeededOptions = {}): FaultRuleInput[] {
  const { kinds = ALL_FAULT_KINDS, density = 0.5 } = options;
  // Each kind has its own stream: leaving one out does not change the others.
  return kinds.flatMap((kind) => {
    const own = random.fork(kind);
    return own.next() < density ? [drawRule(kind, own)] : [];
  });
}

function drawRule(kind: FaultKind, random: Random): FaultRuleInput {
  const common = {
    probability: randomInteger(random, 2, 15) / 100,
    times: randomInteger(random, 1, 4),
  };
  const seconds = (least: number, most: number) => randomInteger(random, least, most) * 1_000;
  switch (kind) {
    case 'task-fail':
      return { kind, ...common, percent: randomInteger(random, 0, 10) * 10 };
    case 'download-fail':
      return {
        kind,
        ...common,
        how: DOWNLOAD_FAILURES[randomInteger(random, 0, DOWNLOAD_FAILURES.length - 1)] ?? 'cut',
        percent: randomInteger(random, 0, 9) * 10,
      };
    case 'upload-cut':
      return { kind, ...common, percent: randomInteger(random, 0, 10) * 10 };
    case 'download-stall':
    case 'upload-stall':
      return { kind, ...common, percent: randomInteger(random, 0, 9) * 10, for_ms: seconds(5, 60) };
    case 'refuse':
      return { kind, ...common, status: REFUSALS[randomInteger(random, 0, REFUSALS.length - 1)] ?? 500 };
    case 'lock':
    case 'task-unknown':
    case 'daemon-down':
      return { kind, ...common, for_ms: seconds(1, 15) };
    case 'storage-lock':
    case 'users-lock':
    case 'disk-full':
    case 'agent-silent':
    case 'stranger-lock':
      return { kind, ...common, for_ms: seconds(5, 60) };
    default:
      return { kind, ...common };
  }
}
