/** The result of a doctor check: a verdict, one sentence and, for problems, a remedy. */
import { type Diagnostic, factsOf, type Where } from '../../base/diagnostics.ts';

export type Verdict =
  | 'good'
  /** Does not prevent an apply. */
  | 'warning'
  /** Prevents an apply. */
  | 'bad'
  /** Could not be checked for lack of a privilege; never counted as good. */
  | 'unknown';

export const CHECKS = [
  'endpoint',
  'certificate',
  'version',
  'token',
  'clock',
  'latency',
  'privileges',
  'plan',
  'quorum',
  'storage',
  'capacity',
  'neighbours',
  'template',
  'images',
  'devices',
  'upgrade',
] as const;

export type CheckName = (typeof CHECKS)[number];

export interface Finding {
  readonly check: CheckName;
  readonly verdict: Verdict;
  /** One sentence. */
  readonly words: string;
  /** Further lines. */
  readonly details?: readonly string[];
  /** What to do or run, line by line. */
  readonly remedy?: string;
  readonly where?: Where;
  /** The privilege and path that the token lacks for this check: `Sys.Audit on /`. */
  readonly needs?: string;
}

type More = Partial<Pick<Finding, 'details' | 'remedy' | 'where'>>;

/** Builders for the findings of one check. */
export function findingsOf(check: CheckName) {
  const say =
    (verdict: Verdict) =>
    (words: string, more: More = {}) =>
      ({ check, verdict, words, ...more }) satisfies Finding;
  return {
    good: say('good'),
    warning: say('warning'),
    bad: say('bad'),
    /** `needs`: a privilege and its path, as `Sys.Audit on /`. */
    unread: (what: string, needs: string): Finding => ({
      check,
      verdict: 'unknown',
      words: `${what}: not checked, the token needs ${needs}.`,
      needs,
    }),
    of: (diagnostic: Diagnostic, verdict: Verdict): Finding => {
      const { detail, hint, where } = diagnostic;
      const { needs } = factsOf(diagnostic);
      const [words = '', ...details] = detail.split('\n').map((line) => line.trim());
      return {
        check,
        verdict,
        words,
        ...(details.length > 0 && { details }),
        ...(hint !== undefined && { remedy: hint.text }),
        ...(where && { where }),
        ...(needs !== undefined && { needs }),
      };
    },
  };
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ verdict }) => verdict !== 'bad');
}

/** Sizes for comparison: `814 GiB` is easier to read than 833584MiB. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** A size for reading: at most one decimal, and none if it is 0. */
export function roughSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = Math.round((bytes / 1024 ** power) * 10) / 10;
  return `${number} ${UNITS[power]}`;
}
