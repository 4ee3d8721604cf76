/**
 * The log as the host reads it: one JSON object per line on standard error. The host adds each of them to its log and
 * filters by TF_LOG_PROVIDER or TF_LOG.
 */
import type { Clock } from '../../base/clock.ts';
import { isLogLevel, LOG_LEVELS, type Logger, type LogLevel } from '../../base/log.ts';
import type { Environment } from '../../base/processes.ts';
import type { KnownSecrets } from '../../base/secret.ts';
import { safeJson } from '../../base/text/safe-text.ts';

export interface HclogOptions {
  readonly write: (text: string) => void;
  readonly clock: Clock;
  /** Undefined: nothing is logged. */
  readonly level: LogLevel | undefined;
  /** Redacted wherever they appear, also inside other text. May grow. */
  readonly secrets: KnownSecrets;
}

/** The host cuts longer lines into pieces that are not JSON. */
const LINE_BYTES_LIMIT = 60 * 1024;

export function createHclog({ write, clock, level: threshold, secrets }: HclogOptions): Logger {
  const limit = threshold === undefined ? -1 : LOG_LEVELS.indexOf(threshold);
  return {
    log: (level, message, fields = {}) => {
      if (LOG_LEVELS.indexOf(level) > limit) return;
      const head = { '@level': level, '@message': message, '@timestamp': timestamp(clock), '@module': 'proxwright' };
      let line = lineOf(secrets.redactIn({ ...head, ...readable(fields) }));
      if (Buffer.byteLength(line) > LINE_BYTES_LIMIT) {
        const start = secrets.redact(message).slice(0, 1_000);
        line = lineOf({ ...head, '@message': `${start} (the rest is too long to be logged)` });
      }
      write(`${line}\n`);
    },
  };
}

/**
 * The level that the host shows, so that no other line is built. PROXMOX_LOG_LEVEL can make it quieter. If the host
 * sets no level, it alone decides, which matters when the provider runs under a debugger.
 */
export function logLevelOf(environment: Environment): LogLevel | undefined {
  const own = environment.PROXMOX_LOG_LEVEL?.toLowerCase() ?? '';
  const ownLevel = isLogLevel(own) ? own : undefined;
  const host = environment.TF_LOG_PROVIDER || environment.TF_LOG;
  if (!host) return ownLevel;
  const hostLevel = hostLevelOf(host.toLowerCase());
  if (hostLevel === undefined || ownLevel === undefined) return hostLevel;
  return LOG_LEVELS[Math.min(LOG_LEVELS.indexOf(hostLevel), LOG_LEVELS.indexOf(ownLevel))];
}

function hostLevelOf(text: string): LogLevel | undefined {
  if (text === 'off') return undefined;
  // `trace`, `json` and every unknown word mean all lines, as in the host.
  return isLogLevel(text) ? text : 'debug';
}

/** The host expects exactly six digits after the point and shows other lines unparsed. */
function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString().replace('Z', '000Z');
}

/** Keys that begin with @ belong to the host. Errors become their message; JSON has no large integers. */
function readable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([name, value]) => value !== undefined && !name.startsWith('@'));
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}

function lineOf(object: Readonly<Record<string, unknown>>): string {
  return safeJson(object);
}
