/**
 * The log as the host reads it: one JSON object per line on standard error, from which it makes its own lines and filters
 * by TF_LOG_PROVIDER or TF_LOG.
 */
import type { Clock } from '../../base/clock.ts';
import { isLogLevel, LOG_LEVELS, type Logger, type LogLevel } from '../../base/log.ts';
import { redact, type Secret } from '../../base/secret.ts';
import type { Environment } from './handshake.ts';

export interface HclogOptions {
  readonly write: (text: string) => void;
  readonly clock: Clock;
  /** Undefined: nothing is logged. */
  readonly level: LogLevel | undefined;
  /** Never shown, also where they come up inside another text. May grow. */
  readonly secrets: Iterable<Secret>;
}

/** Longer lines are cut by the host into pieces that are no JSON. */
const LINE_BYTES_LIMIT = 60 * 1024;

export function createHclog({ write, clock, level: threshold, secrets }: HclogOptions): Logger {
  const limit = threshold === undefined ? -1 : LOG_LEVELS.indexOf(threshold);
  return {
    log: (level, message, fields = {}) => {
      if (LOG_LEVELS.indexOf(level) > limit) return;
      const head = { '@level': level, '@message': message, '@timestamp': timestamp(clock), '@module': 'proxwright' };
      let line = lineOf({ ...head, ...readable(fields) });
      if (Buffer.byteLength(line) > LINE_BYTES_LIMIT) {
        line = lineOf({ ...head, '@message': `${message.slice(0, 1_000)} (the rest is too long to be logged)` });
      }
      write(`${redact(line, secrets)}\n`);
    },
  };
}

/**
 * What the host would show, so that nothing else is built; PROXMOX_LOG_LEVEL makes it quieter. Without a level of the host's
 * it decides alone, which is seen where the provider runs under a debugger.
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
  // `trace`, `json` and, as the host does it, everything it does not know mean all there is.
  return isLogLevel(text) ? text : 'debug';
}

/** The host wants exactly six digits after the point and shows other lines raw. */
function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString().replace('Z', '000Z');
}

/** Keys with an @ are the host's; `undefined` and what JSON cannot hold become text. */
function readable(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([name, value]) => value !== undefined && !name.startsWith('@'));
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Error ? value.message : value]));
}

function lineOf(object: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(object, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
